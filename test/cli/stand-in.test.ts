/** A file of a package in the bundle of `weir dev`, when what it exports is known only as it is loaded. */
import { build } from "esbuild";
import { expect, it } from "vitest";
import { createStandIn } from "../../src/cli/bundle/split.ts";

/** What a project imports of the file, whose package the stand-in takes from elsewhere. */
async function importWord(file: string): Promise<unknown> {
  const { outputFiles } = await build({
    stdin: { contents: `import { word } from "./${file}"; export default word;`, resolveDir: "/" },
    bundle: true,
    write: false,
    format: "esm",
    logLevel: "silent",
    plugins: [
      {
        name: "stand-in",
        setup(plugin) {
          plugin.onResolve({ filter: /^\.\/index/ }, () => ({ path: `/node_modules/unfit/${file}` }));
          plugin.onLoad({ filter: /unfit/ }, ({ path }) => ({
            contents: createStandIn({ key: "package1" }, path.endsWith(".mjs")).replace(
              'weirLoad("package1")',
              '{ word: "given" }',
            ),
            loader: "js",
          }));
          plugin.onResolve({ filter: /^weir:package:/ }, ({ path }) => ({ path, namespace: "package" }));
          plugin.onLoad({ filter: /.*/, namespace: "package" }, () => ({
            contents: 'module.exports = { word: "given" };',
            loader: "js",
          }));
        },
      },
    ],
  });
  const code = Buffer.from(outputFiles[0]?.contents ?? []).toString("base64");
  const { default: word } = (await import(`data:text/javascript;base64,${code}`)) as { default: unknown };
  return word;
}

it.each(["index.js", "index.cjs", "index.mjs"])("stands in for %s", async (file) => {
  expect(await importWord(file)).toBe("given");
});
