/** `fetch` of one file's tests. */
import { vi } from "vitest";

/** The receiver of tests that do not read what it receives. */
const ANY_RECEIVER = "https://hooks.example/";

/** Replaces `fetch`. Files share an isolate, so webhooks that an earlier file left are answered here and not passed on. */
export function stubFetch(answer: (url: string, init: RequestInit) => Promise<Response>): void {
  vi.stubGlobal("fetch", async (url: string, init: RequestInit) =>
    url.startsWith(ANY_RECEIVER) ? new Response() : answer(url, init),
  );
}
