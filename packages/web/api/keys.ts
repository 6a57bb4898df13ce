/** Creates API keys of the workspace. */
import { call } from "./http.ts";
import { queryClient } from "./queries.ts";

export interface KeyTerms {
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
