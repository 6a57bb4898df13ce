/** Reads of the playground, and the commits that it makes. */
import { useQuery } from "@tanstack/react-query";
import { ApiError, call } from "../../api/http.ts";
import { queryClient } from "../../api/queries.ts";
import type { Provider } from "./play.ts";

export interface KnownModel {
  provider: Provider;
  model: string;
  is_available: boolean;
}

export function useModels() {
  return useQuery({
    queryKey: ["playground", "models"],
    staleTime: 300_000,
    queryFn: async ({ signal }) =>
      (await call<{ models: KnownModel[] }>("GET", "/api/v1/playground/models", undefined, signal)).models,
  });
}

interface Pulled {
  commit_hash: string;
  manifest: Record<string, unknown>;
}

const promptPath = (name: string) => `-/${encodeURIComponent(name)}`;

/** A commit with its model. */
export const pull = (name: string, word: string, signal?: AbortSignal): Promise<Pulled> =>
  call("GET", `/api/v1/commits/${promptPath(name)}/${encodeURIComponent(word)}?include_model=true`, undefined, signal);

/** The latest commit, read again each time; null for a prompt without one. */
export function useLatest(name: string | undefined) {
  return useQuery({
    queryKey: ["playground", "latest", name],
    enabled: name !== undefined,
    staleTime: 0,
    queryFn: ({ signal }) =>
      pull(name ?? "", "latest", signal).catch((error: unknown) => {
        if (error instanceof ApiError && error.status === 404) return null;
        throw error;
      }),
  });
}

interface NewCommit {
  name: string;
  isNew: boolean;
  manifest: object;
  description: string;
  parent: string | undefined;
}

/** Commits, and creates the prompt before where it is new. Its hash. */
export async function commit({ name, isNew, manifest, description, parent }: NewCommit): Promise<string> {
  if (isNew) await call("POST", "/api/v1/repos", { repo_handle: name });
  const { commit } = await call<{ commit: { commit_hash: string } }>("POST", `/api/v1/commits/${promptPath(name)}`, {
    manifest,
    ...(description !== "" && { description }),
    ...(parent !== undefined && { parent_commit: parent }),
  }).catch(async (error: unknown) => {
    // The prompt would be there, and be refused as known at the next attempt.
    if (isNew) await call("DELETE", `/api/v1/repos/${promptPath(name)}`).catch(() => undefined);
    throw error;
  });
  await queryClient.invalidateQueries({ queryKey: ["prompts"] });
  await queryClient.invalidateQueries({ queryKey: ["playground", "latest"] });
  return commit.commit_hash;
}
