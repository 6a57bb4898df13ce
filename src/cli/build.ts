/** `weir build`: bundles the project into one module, which wrangler then serves or deploys. */
import { join } from "node:path";
import { readArguments, ENV } from "./console.ts";
import { type Bundle, bundler, BUNDLE } from "./bundle/bundle.ts";
import { type GeneratedConfig, generate } from "./project/generate.ts";
import { writeWhole, findProject, type Project } from "./project/project.ts";
import { writeSchemas } from "./schemas.ts";

export const usage = `weir build [dir] [--env <name>]

Bundles the project of dir (default: this folder) into .weir/build, with its configuration in .weir/wrangler.json.

  --env <name>  an environment of the project's wrangler configuration`;

export interface BuiltProject extends GeneratedConfig, Bundle {}

/** Generates and bundles. Writes the output only on success. Throws a Fault that says what to fix. */
export async function build(project: Project, options: { env?: string } = {}): Promise<BuiltProject> {
  await writeSchemas(project);
  const generated = await generate(project, options);
  const made = await bundler(project);
  try {
    const bundled = await made.bundle();
    writeBundle(project, bundled);
    return { ...generated, ...bundled, warnings: [...generated.warnings, ...bundled.warnings] };
  } finally {
    await made.dispose();
  }
}

/** Puts a bundle where the generated configuration expects it. The same bundle again changes no file. */
export function writeBundle({ weirDir }: Project, { code, map, exports, modules }: Bundle): void {
  const write = (path: string, content: Uint8Array) => writeWhole(join(weirDir, path), content, undefined, weirDir);
  for (const [path, content] of modules) write(join("build", path), content);
  // wrangler watches the folder of the bundle, so the map is outside that folder: a build is then one change.
  write("worker.js.map", map);
  write(join("build", BUNDLE), code);
  // wrangler parses its entry for the names of the exports at each start and change. In a file of its own that takes no time.
  write(join("build", "worker.js"), Buffer.from(`export { ${exports.join(", ")} } from "./${BUNDLE}";\n`));
}

export async function run(argv: string[]): Promise<number> {
  const { values, dir } = readArguments(argv, ENV);
  const project = await findProject(dir);
  const { warnings, code } = await build(project, values);
  for (const warning of warnings) console.warn(`  warning  ${warning}`);
  console.log(`  .weir/build/${BUNDLE}  ${(code.byteLength / 1024 ** 2).toFixed(1)} MiB`);
  return 0;
}
