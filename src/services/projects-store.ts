import type { Config } from '../config.js'
import type { Dynamo } from '../dynamo/client.js'
import { projectEntities } from '../entities/projects.js'
import type { ServiceContext } from './context.js'
import { projectCopies } from './project-copies.js'
import { projectLookups } from './project-lookups.js'
import { projectPhases } from './project-phases.js'
import { projectShadow, type Watch } from './project-shadow.js'
import { type ProjectsService, projectsService } from './projects.js'

/** Whoever answers for projects, opened. */
export interface ProjectsStore {
  service: ProjectsService
  /** What keeps PostgreSQL from answering, while it has to. */
  differences(): Promise<string[]>
  close(): Promise<void>
}

/** Opens what `PROJECTS_STORE` names. Callers of the service cannot tell which it is. */
export async function openProjectsStore(
  { projects, tables }: Config,
  dynamo: Dynamo,
  context: ServiceContext,
  watch: () => Watch
): Promise<ProjectsStore> {
  const service = projectsService(dynamo, tables.projects, context)
  const { store, postgresUrl, postgresPassword } = projects
  if (store === 'dynamodb' || postgresUrl === undefined) {
    return { service, differences: async () => [], close: async () => {} }
  }
  const { openPool } = await import('../postgres/client.js')
  const { postgresProjects } = await import('../postgres/projects.js')
  const entities = projectEntities(dynamo, tables.projects)
  const postgres = postgresProjects(openPool(postgresUrl, postgresPassword))
  const shadow = projectShadow({
    postgres,
    lookups: projectLookups(dynamo, entities),
    copies: projectCopies(entities),
    deleteProject: service.deleteProject,
    watch: watch()
  })
  return {
    service: projectPhases(service, postgres, shadow, { isComparing: store === 'postgres+compare' }, context),
    differences: postgres.differences,
    async close() {
      await shadow.close()
      await postgres.close()
    }
  }
}
