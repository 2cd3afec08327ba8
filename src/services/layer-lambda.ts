import { DeleteLayerVersionCommand, type LambdaClient } from '@aws-sdk/client-lambda'
import type { DeleteLayerVersion } from './layer-expiry.js'

/** Deletes through Lambda's API in the layer's region; a version that is not there is deleted. */
export function lambdaDeletion(clientIn: (region: string) => LambdaClient): DeleteLayerVersion {
  return async ({ region, layer, version }) => {
    try {
      await clientIn(region).send(new DeleteLayerVersionCommand({ LayerName: layer, VersionNumber: version }))
    } catch (error) {
      if ((error as Error).name !== 'ResourceNotFoundException') throw error
    }
  }
}
