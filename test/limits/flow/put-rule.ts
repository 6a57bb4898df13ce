/** Rules of a caller's workspace, and what they have in use. */
import type { Caller } from "../../support/caller.ts";

export async function putRule(caller: Caller, id: string, rule: object): Promise<void> {
  const response = await caller.fetch(`/api/v1/flow/rules/${id}`, { method: "PUT", body: rule });
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
}

export interface Use {
  rule: string;
  key: string;
  held: number;
  waiting: number;
}

export async function uses(caller: Caller, limit = 100): Promise<Use[]> {
  return (await (await caller.fetch(`/api/v1/flow/use?limit=${limit}`)).json<{ uses: Use[] }>()).uses;
}
