/** `weir keys`: API keys of a local server or of a deployment, over its API. */
import { parseArgs } from "node:util";
import { createApi, type Fetch } from "./api.ts";
import { CONNECTION, connectionFor, CREDENTIAL_HELP } from "./connection.ts";
import { CliFault } from "./console.ts";

export const usage = `weir keys create [--name <name>] [--scopes read,write,exports,admin] [--expires <time>]
weir keys list
weir keys revoke <id>

Makes, lists and revokes API keys. A new key is shown only once.

  --url <address>     a deployment; the local server (PORT, or 8787) if left out
  --workspace <id>    the workspace, where the admin key is used; the first one if left out
  --name <name>       what the list shows for the key
  --scopes <scopes>   what the key may do, separated by commas; all if left out
  --expires <time>    when it stops working, such as 2027-01-31T00:00:00Z; never if left out

${CREDENTIAL_HELP("the scope admin")}`;

interface Key {
  id: string;
  name: string;
  hint: string;
  scopes: string[];
  expires_at: string | null;
  last_used_at: string | null;
}

export async function run(argv: string[], fetch: Fetch = globalThis.fetch): Promise<number> {
  const { values, positionals } = parseArgs({
    args: argv,
    allowPositionals: true,
    options: {
      ...CONNECTION,
      name: { type: "string" },
      scopes: { type: "string" },
      expires: { type: "string" },
    },
  });
  const [verb, id, ...more] = positionals;
  const call = createApi({ ...connectionFor(values), fetch });
  if (verb === "create" && !id) {
    const made = await call<Key & { key: string }>("POST", "/api-keys", {
      name: values.name,
      scopes: values.scopes?.split(",").map((scope) => scope.trim()),
      expires_at: values.expires,
    });
    console.log(
      `${made.key}\n  id ${made.id}, scopes ${made.scopes.join(", ")}. This is the only time the key is shown.`,
    );
  } else if (verb === "list" && !id) {
    for (const key of await call<Key[]>("GET", "/api-keys")) console.log(formatKey(key));
  } else if (verb === "revoke" && id && more.length === 0) {
    await call("DELETE", `/api-keys/${encodeURIComponent(id)}`);
    console.log(`${id} is revoked.`);
  } else {
    throw new CliFault(usage);
  }
  return 0;
}

function formatKey({ id, name, hint, scopes, expires_at, last_used_at }: Key): string {
  const used = last_used_at ? `used ${last_used_at.slice(0, 16)}` : "never used";
  return [id, hint, name, scopes.join(","), expires_at ? `expires ${expires_at.slice(0, 16)}` : "", used]
    .filter(Boolean)
    .join("  ");
}
