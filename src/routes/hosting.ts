import type { HostingService } from '../services/hosting.js'
import { aliasRoutes } from './aliases.js'
import { deploymentRoutes } from './deployments.js'
import type { Routes } from './reply.js'

/** Deployments and aliases. */
export const hostingRoutes: Routes<HostingService> = async (app, options) => {
  await deploymentRoutes(app, options)
  await aliasRoutes(app, options)
}
