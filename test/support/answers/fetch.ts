/** In Node: what tests and clients read of servers under test with the global `fetch` is compared with /openapi.json. */
import type { OpenApi } from "./document.ts";
import { origins } from "./origins.ts";
import { watched } from "./watch.ts";

const original = globalThis.fetch;

export function watchFetch(): void {
  globalThis.fetch = async (input, init) => {
    const response = await original(input, init);
    const { origin, pathname: path } = new URL(input instanceof Request ? input.url : input);
    const method = init?.method ?? (input instanceof Request ? input.method : "GET");
    if (!origins.has(origin)) return response;
    const load = async () => (await (await original(`${origin}/openapi.json`)).json()) as OpenApi;
    return watched(response, { method, path }, load);
  };
}
