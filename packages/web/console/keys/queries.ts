/** API keys of the workspace. */
import { useQuery } from "@tanstack/react-query";
import { call } from "../../api/http.ts";
import { queryClient } from "../../api/queries.ts";
import type { Key, NewKey } from "../../../../src/access/auth/wire.ts";

export const SCOPES = [
  { scope: "read", means: "reads threads, runs, traces, assistants and the Store" },
  { scope: "write", means: "starts runs, and changes and deletes what read sees" },
  { scope: "exports", means: "creates exports and their destinations" },
  { scope: "admin", means: "manages keys, OAuth access, webhook secrets; reads the audit log" },
] as const;

export type { Key, NewKey };

const PATH = "/api/v1/api-keys";

export function useApiKeys() {
  return useQuery({
    queryKey: ["api-keys"],
    queryFn: ({ signal }) => call<Key[]>("GET", PATH, undefined, signal),
  });
}

const again = () => queryClient.invalidateQueries({ queryKey: ["api-keys"] });

export const createKey = (terms: KeyTerms): Promise<NewKey> => postKey<NewKey>(terms);

/** Gives a key another role, or none. */
export async function changeKeyRole(id: string, role: string | null): Promise<void> {
  await call("PATCH", `${PATH}/${id}`, { role });
  await again();
}

/** Replaces a key. The old one works for `seconds` more. */
export async function rollKey(id: string, seconds: number): Promise<NewKey> {
  const made = await call<NewKey>("POST", `${PATH}/${id}/roll`, { overlap_seconds: seconds });
  await again();
  return made;
}

/** Deletes a key; with `predecessors` also those that were replaced by it and still work. */
export async function deleteKey(id: string, predecessors: boolean): Promise<void> {
  await call("DELETE", `${PATH}/${id}${predecessors ? "?predecessors=true" : ""}`);
  await again();
}

/** Creates API keys of the workspace. */
interface KeyTerms {
  name: string;
  /** Left out: those of the role. */
  scopes?: string[];
  role: string | null;
  expires_at: string | null;
  allowed_ips: string[] | null;
}

/** The key itself is in this answer only. */
export async function postKey<T extends { key: string }>(terms: KeyTerms): Promise<T> {
  const created = await call<T>("POST", "/api/v1/api-keys", terms);
  await queryClient.invalidateQueries({ queryKey: ["api-keys"] });
  return created;
}
