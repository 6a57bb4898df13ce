/**
 * The main module of the Worker under `weir dev`. An edit of the project's code replaces the bundle in the running workerd: runs that
 * are under way end with the code that they began with, and what begins afterwards has the new code.
 */
import { BUNDLE, PACKAGES } from "../bundle/bundle.ts";

/** The header of a request that replaces the bundle. Its value is the secret, its body the new module. */
const HEADER = "weir-replace";

/** The longest time in which a new bundle is loaded. */
const LOAD_MS = 10_000;

/** The entrypoint that the Worker's own socket has: the same handlers as `default`. */
export const DIRECT = "WeirDirect";

/** The Durable Objects of Weir, whose code does not change. A class of the project's own needs a new workerd. */
const CLASSES = ["Ledger", "Limiter", "Thread", "ThreadIndex", "TraceIndex", "TracePartition"];

/** Whether a bundle with these exports can be replaced. */
export const isReplaceable = (exports: string[]): boolean =>
  exports.every((name) => name === "default" || CLASSES.includes(name));

/** The name under which the bundle is loaded for the n-th time. A module is evaluated once by its name. */
export const moduleName = (n: number): string => BUNDLE.replace(".", `-${n}.`);

/** The module for a bundle that cannot be replaced. */
export const plainEntry = (): string =>
  `export * from "./${BUNDLE}";\nexport { default, default as ${DIRECT} } from "./${BUNDLE}";\n`;

/** The module for a bundle with these exports. */
export const replaceableEntry = (exports: string[], secret: string): string => `
import first from "./${BUNDLE}";
import { runtime } from "./${PACKAGES}";
export { ${exports.filter((name) => name !== "default").join(", ")} } from "./${BUNDLE}";

let current = first;

async function replace(request) {
  try {
    const { default: next } = await import(await request.text());
    const isWhole = await runtime().redeployed();
    current = next;
    return new Response(null, { status: isWhole ? 204 : 409 });
  } catch (error) {
    return new Response(String(error), { status: 409 });
  }
}

const handlers = () => ({
  ...Object.fromEntries(Object.keys(first).map((name) => [name, (...given) => current[name](...given)])),
  fetch: (request, env, ctx) =>
    request.headers.get("${HEADER}") === "${secret}" ? replace(request) : current.fetch(request, env, ctx),
});
const all = typeof first === "object" ? handlers() : first;
export { all as default, all as ${DIRECT} };
`;

/** Replaces the bundle of the server at `url`. False when it needs a new workerd. */
export async function replaceBundle(url: string, secret: string, n: number): Promise<boolean> {
  const init = { method: "POST", headers: { [HEADER]: secret }, body: `./${moduleName(n)}` };
  try {
    return (await fetch(url, { ...init, signal: AbortSignal.timeout(LOAD_MS) })).status === 204;
  } catch {
    return false;
  }
}
