/** The three lines that `weir dev` prints when it is ready. */
import { randomUUID } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Fault } from "../fault.ts";
import { writeWhole } from "../write-whole.ts";
import type { Project } from "../project.ts";
import { stateFolder } from "./local-config.ts";

/** The workspace that requests without a key act as on this machine: src/auth/principal.ts has it too. */
export const LOCAL_WORKSPACE_ID = "00000000-0000-4000-8000-000000000001";

/**
 * The key of the local workspace at `url`, with the `mount_prefix`: made once with the server's admin key, and kept beside the
 * state, since the server keeps only its hash.
 */
export async function localKey(project: Project, url: string, adminKey: string): Promise<string> {
  const file = join(stateFolder(project), "key");
  const known = existsSync(file) ? readFileSync(file, "utf8").trim() : undefined;
  if (known && (await fetch(`${url}/api/v1/api-keys`, { headers: { "x-api-key": known } })).ok) return known;
  const headers = { "x-api-key": adminKey, "content-type": "application/json" };
  const post = async (path: string, body: unknown, more = {}) =>
    fetch(`${url}/api/v1${path}`, { method: "POST", headers: { ...headers, ...more }, body: JSON.stringify(body) });
  const workspace = await post("/workspaces", { id: LOCAL_WORKSPACE_ID, name: "local" });
  if (!workspace.ok && workspace.status !== 409) throw await toFault(workspace);
  const made = await post("/api-keys", { name: "local" }, { "x-tenant-id": LOCAL_WORKSPACE_ID });
  if (!made.ok) throw await toFault(made);
  const { key } = await made.json<{ key: string }>();
  writeWhole(file, `${key}\n`, 0o600);
  return key;
}

const toFault = async (answer: Response): Promise<Fault> => {
  const text = await answer.text();
  try {
    return new Fault((JSON.parse(text) as { detail: string }).detail);
  } catch {
    return new Fault(text);
  }
};

/** The address, the key, and a run to try. */
export function introduction({ config }: Project, url: string, key: string): string {
  const graphs = Object.keys(config.graphs);
  const assistant_id = graphs.includes("agent") ? "agent" : graphs[0];
  const input = { messages: [{ role: "user", content: "What is 17 * 24, and what time is it in Tokyo?" }] };
  const run = { assistant_id, if_not_exists: "create", stream_mode: ["messages-tuple"], input };
  const headers = `-H "content-type: application/json" -H "x-api-key: ${key}"`;
  return [
    "",
    `  Weir listens on  ${url}`,
    `  Workspace, key   ${LOCAL_WORKSPACE_ID}  ${key}`,
    `  Try              curl -N ${url}${config.http?.mount_prefix ?? ""}/threads/${randomUUID()}/runs/stream ${headers} -d '${JSON.stringify(run)}'`,
    "",
  ].join("\n");
}
