/** What is left to do when createWeir is called again in an isolate, as `weir dev` does after an edit of the project's code. */
import { settings } from "./config.ts";
import { graphs } from "./graphs/index.ts";
import { builtSchemas } from "./graphs/schemas.ts";
import { Lazy } from "./lazy.ts";
import { uis } from "./ui/files.ts";
import { custom } from "./deployment.ts";

/** What the last call deployed. */
interface Deployed {
  graphs: object;
  schemas: object;
  ui: object;
  app?: unknown;
  config: object;
  own: object;
}

let last: Deployed | undefined;

export function noteDeployed(deployed: Deployed): void {
  last = deployed;
}

/**
 * Removes what only an earlier call deployed, and loads the modules again that were loaded then. False when one of them cannot be
 * loaded: packages that stay loaded may refuse what they have already, so it is to be tried in an isolate of its own.
 */
export async function redeployed(): Promise<boolean> {
  if (!last) return false;
  remove(graphs, last.graphs);
  remove(builtSchemas, last.schemas);
  remove(uis, last.ui);
  remove(settings, last.config);
  remove(custom, last.own);
  const entries = [last.graphs, last.ui, last.own, { app: last.app }].flatMap((from): unknown[] => Object.values(from));
  const modules = entries.filter((entry) => entry instanceof Lazy).filter(({ spec }) => Lazy.specs.has(spec));
  const results = await Promise.allSettled(modules.map(async (module) => module.get()));
  return results.every(({ status }) => status === "fulfilled");
}

function remove(from: object, kept: object): void {
  for (const key of Object.keys(from)) if (!Object.hasOwn(kept, key)) Reflect.deleteProperty(from, key);
}
