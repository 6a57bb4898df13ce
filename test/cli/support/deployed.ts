/** What a deployed Worker answers to a deploy: `/ok`, the first workspace and its keys, checked by the uploaded secrets. */
import type { Fetch } from "../../../src/cli/api.ts";
import type { CloudflareApi } from "./cloudflare-api.ts";

export interface Deployed {
  fetch: Fetch;
  /** The workspaces and keys that were made, by host. */
  keys: Map<string, string[]>;
}

export function deployedWorkers(api: CloudflareApi): Deployed {
  const keys: Deployed["keys"] = new Map();
  const fetch: Fetch = async (input, init) => {
    const request = new Request(input, init);
    const { hostname, pathname } = new URL(request.url);
    const worker = api.workers.all.get(hostname.split(".")[0] ?? "");
    if (!worker) throw new TypeError(`getaddrinfo ENOTFOUND ${hostname}`);
    if (pathname === "/ok") return Response.json({ ok: true });
    if (request.headers.get("x-api-key") !== worker.secrets.get("WEIR_ADMIN_KEY")) {
      return Response.json({ detail: "This call needs the deployment's admin key." }, { status: 403 });
    }
    const made = keys.get(hostname);
    switch (`${request.method} ${pathname}`) {
      case "POST /api/v1/workspaces":
        if (made) return Response.json({ detail: "A workspace with this id exists." }, { status: 409 });
        keys.set(hostname, []);
        return Response.json(await request.json(), { status: 201 });
      case "GET /api/v1/api-keys":
        return Response.json((made ?? []).map((name) => ({ name })));
      case "POST /api/v1/api-keys":
        made?.push("first");
        return Response.json({ key: `weir_key_of_${hostname}` }, { status: 201 });
      default:
        return Response.json({ detail: `No route ${request.method} ${pathname}.` }, { status: 404 });
    }
  };
  return { fetch, keys };
}
