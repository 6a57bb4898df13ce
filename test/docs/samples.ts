/** The requests that the samples of /openapi.json make, without a network. */
import { execFileSync } from "node:child_process";
import { stripTypeScriptTypes } from "node:module";

export interface Sample {
  lang: string;
  source: string;
}
export interface Described {
  method: string;
  path: string;
  summary: string;
  samples: Sample[];
}
/** A request as all languages make it. `body` has the values of a form, the JSON of each part, or the JSON. */
export interface Made {
  method: string;
  url: string;
  key: string | null;
  kind: "none" | "json" | "form" | "multipart";
  body: unknown;
}

export const ENV = { WEIR_URL: "https://weir.test", WEIR_API_KEY: "the-key" };

/** Every operation with its samples. WebSockets are no requests of `fetch` or `requests`, so they are not among them. */
export async function fetchSamples(url: string): Promise<Described[]> {
  const { paths } = await (
    await fetch(`${url}/openapi.json`)
  ).json<{
    paths: Record<string, Record<string, { summary: string; "x-codeSamples": Sample[] }>>;
  }>();
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .map(([method, { summary, "x-codeSamples": samples }]) => ({ method, path, summary, samples }))
      .filter(({ summary }) => !summary.includes("WebSocket")),
  );
}

export const sourceIn = ({ samples }: Described, lang: string) =>
  samples.find((one) => one.lang === lang)?.source ?? "";

const AsyncFunction = (async () => {}).constructor as new (
  ...parts: string[]
) => (...given: unknown[]) => Promise<void>;

/** What the TypeScript sample gives to `fetch`. */
export async function madeByTypeScript(source: string): Promise<Made> {
  let made: Made | undefined;
  const take = async (url: string, { method = "GET", headers = {}, body }: RequestInit = {}) => {
    made = { method, url, key: new Headers(headers).get("x-api-key"), ...(await parseBody(body)) };
    return { status: 200, text: async () => "", body: new Blob([]).stream() };
  };
  const run = new AsyncFunction("fetch", "process", "console", stripTypeScriptTypes(source));
  await run(take, { env: ENV }, { log: () => {} });
  if (!made) throw new Error(`No request: ${source}`);
  return made;
}

async function parseBody(body: RequestInit["body"]): Promise<Pick<Made, "kind" | "body">> {
  if (typeof body === "string") return { kind: "json", body: JSON.parse(body) };
  if (body instanceof URLSearchParams) return { kind: "form", body: Object.fromEntries(body) };
  if (!(body instanceof FormData)) return { kind: "none", body: null };
  const parts = await Promise.all(
    [...body].map(async ([name, part]) => [name, JSON.parse(await (part as File).text())]),
  );
  return { kind: "multipart", body: Object.fromEntries(parts) };
}

/** What the shell gives to `curl`, for each sample. */
export function madeByCurl(sources: string[]): Made[] {
  const script = [`curl() { printf '%s\\0' "$@"; printf '\\001\\0'; }`, ...sources].join("\n");
  const printed = execFileSync("sh", ["-euc", script], { env: { ...process.env, ...ENV }, maxBuffer: 1e8 }).toString();
  const calls = printed.split("\u0001\0").slice(0, -1);
  return calls.map((call) => parseRequest(call.split("\0").slice(0, -1)));
}

function parseRequest(args: string[]): Made {
  const made: Made = { method: "GET", url: "", key: null, kind: "none", body: null };
  for (let at = 0; at < args.length; at += 1) {
    const [option = "", value = ""] = args.slice(at, at + 2);
    if (option.startsWith("https:")) made.url = option;
    else if (option !== "-N") {
      take(made, option, value);
      at += 1;
    }
  }
  return made;
}

function take(made: Made, option: string, value: string): void {
  const [, name = "", rest = ""] = /^([^=]+)=([\s\S]*)$/.exec(value) ?? [];
  const more = (entry: unknown) => ({ ...(made.body as object), [name]: entry });
  if (option === "-X") made.method = value;
  else if (option === "-H") made.key = value.startsWith("X-API-Key: ") ? value.slice("X-API-Key: ".length) : made.key;
  else if (option === "-d") Object.assign(made, { kind: "json", body: JSON.parse(value) });
  else if (option === "--data-urlencode") Object.assign(made, { kind: "form", body: more(rest) });
  else if (option === "-F") {
    Object.assign(made, { kind: "multipart", body: more(JSON.parse(rest.replace(/;type=application\/json$/, ""))) });
  } else throw new Error(`curl has no ${option} here.`);
}
