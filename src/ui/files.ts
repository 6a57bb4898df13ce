/** The UI components of the deployment: bundles for browsers by name, filled by createWeir. */
import { type Lazy, loaded } from "../lazy.ts";

/** A bundle's files by name: `entrypoint.js`, and `entrypoint.css` where components have styles. */
export type UiFiles = Record<string, string>;

export const uis: Record<string, UiFiles | Lazy<UiFiles>> = {};

/** The files of this bundle; undefined when the deployment has no such bundle. */
export async function loadFiles(name: string): Promise<UiFiles | undefined> {
  const files = Object.hasOwn(uis, name) ? uis[name] : undefined;
  return files && loaded(files);
}
