/** `weir dev`. */
import { build } from "./build.ts";
import { findProject } from "./project.ts";

export const usage = "weir dev [dir]";

export async function run(argv: string[]): Promise<number> {
  await build(await findProject(argv[0] ?? "."));
  return 0;
}
