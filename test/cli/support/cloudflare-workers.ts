/** Workers in the stand-in of Cloudflare's API: uploads with their bindings, secrets, assets and the workers.dev address. */
import { randomUUID } from "node:crypto";
import { Refusal, type Route } from "./cloudflare-route.ts";

export interface Binding {
  name: string;
  type: string;
  text?: string;
  [key: string]: unknown;
}

export interface UploadedWorker {
  bindings: Binding[];
  /** Names to values: those of every upload and of `PUT …/secrets`. */
  secrets: Map<string, string>;
  uploads: number;
  schedules: unknown[];
}

export class Workers {
  readonly assetToken = `${Buffer.from("{}").toString("base64url")}.${Buffer.from("{}").toString("base64url")}.assets`;
  readonly all = new Map<string, UploadedWorker>();

  find(name: string): UploadedWorker {
    const found = this.all.get(name);
    if (!found) throw new Refusal(404, 10007, "This Worker does not exist on your account.");
    return found;
  }
}

const WORKER = /^\/workers\/scripts\/([^/]+)/.source;
const at = (rest: string) => new RegExp(`${WORKER}${rest}$`);

export function workerRoutes(workers: Workers): Route[] {
  return [
    [
      "GET",
      /^\/workers\/services\/([^/]+)$/,
      (_, name = "") => {
        if (!workers.all.has(name)) throw new Refusal(404, 10090, "This Worker does not exist on your account.");
        const script = { tag: name, tags: [], last_deployed_from: "wrangler" };
        return { default_environment: { environment: "production", script } };
      },
    ],
    ["PUT", at(""), ({ request }, name = "") => upload(workers, name, request)],
    ["GET", at("/secrets"), (_, name = "") => listSecrets(workers.find(name))],
    [
      "PUT",
      at("/secrets"),
      async ({ request }, name = "") => {
        const { name: secret, text } = await request.json<{ name: string; text: string }>();
        workers.find(name).secrets.set(secret, text);
        return { name: secret, type: "secret_text" };
      },
    ],
    [
      "POST",
      at("/assets-upload-session"),
      async ({ request }) => {
        const { manifest } = await request.json<{ manifest: Record<string, { hash: string }> }>();
        return { jwt: workers.assetToken, buckets: [Object.values(manifest).map(({ hash }) => hash)] };
      },
    ],
    ["POST", /^\/workers\/assets\/upload$/, () => ({ jwt: workers.assetToken })],
    ["GET", at("/settings"), (_, name = "") => ({ bindings: workers.find(name).bindings })],
    ["PATCH", at("/script-settings"), () => ({})],
    ["GET", at("/deployments"), () => ({ deployments: [] })],
    ["POST", at("/subdomain"), () => ({ enabled: true, previews_enabled: true })],
    ["GET", /^\/workers\/workers\/([^/]+)$/, () => ({ subdomain: { enabled: true, previews_enabled: true } })],
    ["GET", /^\/workers\/subdomain$/, () => ({ subdomain: "stand-in" })],
    ["GET", /^\/workers\/subdomain\/edge-preview$/, () => ({})],
    [
      "PUT",
      at("/schedules"),
      async ({ request }, name = "") => {
        const schedules = await request.json<unknown[]>();
        workers.find(name).schedules = schedules;
        return { schedules };
      },
    ],
  ];
}

const listSecrets = ({ secrets }: UploadedWorker) => [...secrets.keys()].map((name) => ({ name, type: "secret_text" }));

/** Takes an upload as the API does: bindings that inherit must be there already, and secrets are kept. */
async function upload(workers: Workers, name: string, request: Request) {
  const form = await request.formData();
  const { bindings } = JSON.parse(await readText(form.get("metadata"))) as { bindings: Binding[] };
  const before = workers.all.get(name);
  const secrets = new Map(before?.secrets);
  const had = new Set([...(before?.bindings ?? []).map((binding) => binding.name), ...secrets.keys()]);
  for (const binding of bindings) {
    if (binding.type === "secret_text") secrets.set(binding.name, binding.text ?? "");
    if (binding.type === "inherit" && !had.has(binding.name)) {
      throw new Refusal(400, 10057, `inherit binding '${binding.name}' is invalid`);
    }
  }
  const { uploads = 0, schedules = [] } = before ?? {};
  workers.all.set(name, { bindings, secrets, uploads: uploads + 1, schedules });
  const id = randomUUID();
  return { id: name, etag: id, deployment_id: id.replaceAll("-", ""), startup_time_ms: 12 };
}

const readText = async (part: string | File | null) => (typeof part === "string" ? part : ((await part?.text()) ?? ""));
