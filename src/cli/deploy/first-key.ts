/** The first workspace of a deployment and its first key. */
import { createApi, type Fetch } from "../api.ts";
import { Fault } from "../fault.ts";

/** The workspace in which users of the deployment's own `Auth` act, unless AUTH_WORKSPACE_ID names another. */
export const FIRST_WORKSPACE_ID = "00000000-0000-4000-8000-000000000001";

/**
 * Waits until the deployment answers `/ok`. A new address of workers.dev takes up to a minute to resolve.
 *
 * @throws Fault with the last reason, after `attempts` with `pause` milliseconds in between.
 */
export async function waitUntilOk(url: string, fetch: Fetch, { attempts = 60, pause = 2_000 } = {}): Promise<void> {
  let reason = "";
  for (let attempt = 1; attempt <= attempts; attempt++) {
    try {
      const response = await fetch(`${url}/ok?check_db=1`, { signal: AbortSignal.timeout(10_000) });
      if (response.ok) return;
      reason = `status ${response.status}`;
    } catch (error) {
      reason = error instanceof Error ? error.message : String(error);
    }
    if (attempt < attempts) await new Promise((resolve) => setTimeout(resolve, pause));
  }
  throw new Fault(
    `The Worker is deployed, but ${url}/ok does not answer: ${reason}. See \`weir logs\`, then run again.`,
  );
}

/**
 * Makes the first workspace and a key of it, unless they exist.
 *
 * @returns the key, to be shown once; undefined where the workspace has keys.
 */
export async function firstKey(url: string, adminKey: string, fetch: Fetch): Promise<string | undefined> {
  const call = createApi({ url, key: adminKey, workspaceId: FIRST_WORKSPACE_ID, fetch });
  await call("POST", "/workspaces", { id: FIRST_WORKSPACE_ID, name: "default" }, [409]);
  const keys = await call<unknown[]>("GET", "/api-keys");
  if (keys.length > 0) return undefined;
  return (await call<{ key: string }>("POST", "/api-keys", { name: "first" })).key;
}
