/** In Node: what tests and clients read of servers under test with the global `fetch` is compared with /openapi.json. */
import type { OpenApi } from "./document.ts";
import { origins } from "./origins.ts";
import { watchAnswer } from "./watch.ts";

const original = globalThis.fetch;

const readAs = async <T>(answer: Response): Promise<T> => (await answer.json()) as T;

export function watchFetch(): void {
  globalThis.fetch = async (input, init) => {
    const response = await original(input, init);
    const { origin, pathname: path } = new URL(input instanceof Request ? input.url : input);
    const method = init?.method ?? (input instanceof Request ? input.method : "GET");
    if (!origins.has(origin)) return response;
    const load = async () => readAs<OpenApi>(await original(`${origin}/openapi.json`));
    return watchAnswer(response, { method, path }, load);
  };
}
