/** Reads and changes of the views of prompts. */
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { call } from "../../api/http.ts";
import { queryClient } from "../../api/queries.ts";
import type { Commit, Prompt, Tag } from "../../../../src/agents/prompts/wire.ts";

export type { Commit, Prompt as PromptRow, Tag };

const ALL = ["prompts"];
const PAGE = 50;
const promptPath = (name: string) => `-/${encodeURIComponent(name)}`;

/** The latest change first. */
export function usePrompts() {
  return useInfiniteQuery({
    queryKey: [...ALL, "list"],
    initialPageParam: 0,
    queryFn: ({ pageParam, signal }) =>
      call<{ repos: Prompt[] }>("GET", `/api/v1/repos?limit=${PAGE}&offset=${pageParam}`, undefined, signal),
    getNextPageParam: (last, pages) => (last.repos.length < PAGE ? undefined : pages.length * PAGE),
    select: ({ pages }) => ({ rows: pages.flatMap(({ repos }) => repos) }),
  });
}

export function usePrompt(name: string) {
  return useQuery({
    queryKey: [...ALL, "one", name],
    queryFn: async ({ signal }) =>
      (await call<{ repo: Prompt }>("GET", `/api/v1/repos/${promptPath(name)}`, undefined, signal)).repo,
  });
}

export function useTags(name: string) {
  return useQuery({
    queryKey: [...ALL, "tags", name],
    queryFn: ({ signal }) => call<Tag[]>("GET", `/api/v1/repos/${promptPath(name)}/tags`, undefined, signal),
  });
}

/** Newest first. */
export function useCommits(name: string) {
  return useInfiniteQuery({
    queryKey: [...ALL, "commits", name],
    initialPageParam: 0,
    queryFn: ({ pageParam, signal }) =>
      call<{ commits: Commit[] }>(
        "GET",
        `/api/v1/commits/${promptPath(name)}?limit=${PAGE}&offset=${pageParam}`,
        undefined,
        signal,
      ),
    getNextPageParam: (last, pages) => (last.commits.length < PAGE ? undefined : pages.length * PAGE),
    select: ({ pages }) => ({ rows: pages.flatMap(({ commits }) => commits) }),
  });
}

/** The content of a commit, with the model. It does not change. */
export function useManifest(name: string, hash: string | undefined) {
  return useQuery({
    queryKey: [...ALL, "manifest", name, hash],
    enabled: hash !== undefined,
    staleTime: Infinity,
    queryFn: ({ signal }) =>
      call<{ commit_hash: string; manifest: Record<string, unknown> }>(
        "GET",
        `/api/v1/commits/${promptPath(name)}/${encodeURIComponent(hash ?? "")}?include_model=true`,
        undefined,
        signal,
      ),
  });
}

/** Names a commit, or moves the name to it. */
export async function moveTag(name: string, tag: string, hash: string): Promise<void> {
  await call("POST", `/api/v1/repos/${promptPath(name)}/tags`, { tag_name: tag, commit_id: hash });
  await queryClient.invalidateQueries({ queryKey: [...ALL, "tags", name] });
}

export async function deleteTag(name: string, tag: string): Promise<void> {
  await call("DELETE", `/api/v1/repos/${promptPath(name)}/tags/${encodeURIComponent(tag)}`);
  await queryClient.invalidateQueries({ queryKey: [...ALL, "tags", name] });
}

export async function deletePrompt(name: string): Promise<void> {
  await call("DELETE", `/api/v1/repos/${promptPath(name)}`);
  await queryClient.invalidateQueries({ queryKey: [...ALL, "list"] });
}
