/** The methods of the LangSmith client about prompts, for langsmith-methods.slow.test.ts: each finds what those before it made. */
import type { Client } from "langsmith";
import { expect } from "vitest";

export const PROMPTS: Record<string, (c: Client, ids: { run: string }) => unknown> = {
  createPrompt: (c, { run }) => c.createPrompt(`p-${run}`, { description: "d", readme: "r", tags: ["t"] }),
  promptExists: async (c, { run }) => {
    expect([await c.promptExists(`p-${run}`), await c.promptExists(`none-${run}`)]).toEqual([true, false]);
  },
  createCommit: async (c, { run }) => {
    expect(
      await c.createCommit(`p-${run}`, { template: "one" }, { tags: ["prod", "v1"], description: "first" }),
    ).toMatch(/\/prompts\/p-[^/]+\/[0-9a-f]{8}\?organizationId=/);
  },
  pushPrompt: async (c, { run }) => {
    await c.pushPrompt(`p-${run}`, { object: { template: "two" }, description: "changed", commitTags: "v2" });
    await expect(c.pushPrompt(`p-${run}`, { object: { template: "two" } })).rejects.toThrow("Nothing to commit");
    const stale = c.createCommit(`p-${run}`, { template: "three" }, { parentCommitHash: "0".repeat(64) });
    await expect(stale).rejects.toThrow("409");
    await c.pushPrompt(`pushed-${run}`, { object: { template: "one" }, tags: ["t"] });
    await c.pushPrompt(`empty-${run}`);
  },
  pullPromptCommit: async (c, { run }) => {
    const templates = [];
    for (const word of ["", ":prod", ":v2", ":latest"]) {
      const { repo, owner, examples, manifest, commit_hash } = await c.pullPromptCommit(`p-${run}${word}`, {
        skipCache: true,
      });
      expect([owner, repo, examples]).toEqual(["-", `p-${run}`, []]);
      const pinned = await c.pullPromptCommit(`p-${run}:${commit_hash}`);
      expect(pinned.manifest).toEqual(manifest);
      templates.push(manifest.template);
    }
    expect(templates).toEqual(["two", "one", "two", "two"]);
    await expect(c.pullPromptCommit(`p-${run}:none`)).rejects.toThrow("404");
  },
  listCommits: async (c, { run }) => {
    const commits = [];
    for await (const commit of c.listCommits(`p-${run}`)) commits.push(commit);
    expect(commits.map(({ manifest }) => manifest.template)).toEqual(["two", "one"]);
  },
  getPrompt: async (c, { run }) => {
    const prompt = await c.getPrompt(`p-${run}`);
    expect(prompt).toMatchObject({
      num_commits: 2,
      description: "changed",
      readme: "r",
      tags: ["t"],
      is_public: false,
    });
    expect(await c.getPrompt(`none-${run}`)).toBeNull();
  },
  updatePrompt: async (c, { run }) => {
    expect(await c.updatePrompt(`p-${run}`, { readme: "s" })).toMatchObject({ repo: { readme: "s" } });
  },
  likePrompt: async (c, { run }) => expect(await c.likePrompt(`p-${run}`)).toEqual({ likes: 1 }),
  unlikePrompt: async (c, { run }) => expect(await c.unlikePrompt(`p-${run}`)).toEqual({ likes: 0 }),
  listPrompts: async (c, { run }) => {
    const found = [];
    for await (const prompt of c.listPrompts({ query: run, isPublic: false })) found.push(prompt.repo_handle);
    expect(found.toSorted()).toEqual([`empty-${run}`, `p-${run}`, `pushed-${run}`]);
  },
  deletePrompt: async (c, { run }) => {
    await c.deletePrompt(`p-${run}`);
    expect(await c.promptExists(`p-${run}`)).toBe(false);
  },
  agentExists: async (c) => expect(await c.agentExists("-/a")).toBe(false),
  skillExists: async (c) => expect(await c.skillExists("-/s")).toBe(false),
};
