/** The graphs of the bundle that is to be deployed, as the bundle itself describes them on this machine. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DescribedGraph } from "../../system/deploys/schema.ts";
import { localEnvironment } from "../project/project.ts";
import { Fault } from "../fault.ts";
import type { Generated } from "../project/generate.ts";
import type { Project } from "../project.ts";

/**
 * Serves `.weir/build` for a moment, with an empty state, and reads its graphs. A graph that needs what only the deployment has
 * has no shape and an `error`. Throws a Fault when the bundle cannot be loaded.
 */
export async function describeBundle(project: Project, generated: Generated): Promise<Record<string, DescribedGraph>> {
  const [{ localConfig }, { readModules }, { Server }, { translateConfig: translated }, { useScript }] =
    await Promise.all([
      import("../dev/local-config.ts"),
      import("../dev/modules.ts"),
      import("../dev/server.ts"),
      import("../dev/config.ts"),
      import("../dev/workerd.ts"),
    ]);
  const { file, name, variables } = localConfig(project, generated, localEnvironment(project));
  const options = await translated(project, file);
  useScript(project.weirDir);
  const persistTo = mkdtempSync(join(tmpdir(), "weir-"));
  const lost = Promise.withResolvers<never>();
  const server = new Server({ persistTo, onLine: () => {}, trace: () => {}, onLost: lost.reject });
  try {
    await server.serve({ name, variables, translated: options, modules: readModules(project) });
    const prefix = project.config.http?.mount_prefix ?? "";
    const headers = { "x-api-key": variables.WEIR_ADMIN_KEY };
    const response = await Promise.race([fetch(`${server.url}${prefix}/graphs`, { headers }), lost.promise]);
    if (!response.ok) throw new Fault(`The bundle does not describe its graphs: ${await response.text()}`);
    return (await response.json<{ graphs: Record<string, DescribedGraph> }>()).graphs;
  } finally {
    await server.stop();
    rmSync(persistTo, { recursive: true, force: true });
  }
}
