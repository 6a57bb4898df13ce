/** Compares what tests read of answers with /openapi.json. A fault fails the test that is running. */
import { afterEach, expect } from "vitest";
import { Document, type Answer, type OpenApi } from "./document.ts";

const KEY = Symbol.for("weir.openapi");
const faults: string[] = [];
/** Files in workerd evaluate this module again in the same isolate. */
const holder = globalThis as { [KEY]?: Promise<Document> };

/** The answer, whose body is compared when it is read as a whole. `load` reads the document once. */
export async function watchAnswer(
  response: Response,
  request: { method: string; path: string },
  load: () => Promise<OpenApi>,
): Promise<Response> {
  if (request.path === "/openapi.json") return response;
  const known = await (holder[KEY] ??= load().then((openapi) => new Document(openapi)));
  const type = (response.headers.get("content-type") ?? "").split(";")[0]?.trim() ?? "";
  const answer: Answer = { ...request, status: response.status, type };
  note(answer, known.findHeadFault(answer));
  return type.endsWith("json") && type !== "application/x-ndjson"
    ? withReads(response, (body) => note(answer, known.findBodyFault(answer, body)))
    : response;
}

function note({ method, path, status }: Answer, fault: string | undefined): void {
  if (fault !== undefined) faults.push(`${method} ${path} answered ${status}: ${fault}`);
}

function withReads(response: Response, compare: (body: unknown) => void): Response {
  const json = response.json.bind(response);
  const text = response.text.bind(response);
  const clone = response.clone.bind(response);
  return Object.assign(response, {
    json: async () => {
      const body: unknown = await json();
      compare(body);
      return body;
    },
    text: async () => {
      const read = await text();
      compare(parseJson(read));
      return read;
    },
    clone: () => withReads(clone(), compare),
  });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Fails each test during which an answer was not as the document says. */
export function failOnFaults(): void {
  afterEach(() => {
    expect(faults.splice(0), "answers that are not as /openapi.json says").toEqual([]);
  });
}
