/** Prompts: names, commits after each other, what a word names, tags that move, and what is refused. */
import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";
import { type Caller, newCaller } from "../../support/caller.ts";

interface Commit {
  id: string;
  commit_hash: string;
  parent_commit_hash: string | null;
  manifest: object | null;
  description: string | null;
}
interface Prompt {
  repo_handle: string;
  full_name: string;
  num_commits: number;
  num_likes: number;
  liked_by_auth_user: boolean;
  last_commit_hash: string | null;
  description: string | null;
  tags: string[];
}

let caller: Caller;
beforeAll(async () => {
  caller = await newCaller();
});

interface Answer<T> {
  status: number;
  json: T;
}

// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- The caller says what the answer is.
async function call<T>(path: string, body?: unknown, method?: string): Promise<Answer<T>> {
  const answer = await caller.fetch(path, { body, ...(method && { method }) });
  const text = await answer.text();
  return { status: answer.status, json: (text === "" ? {} : JSON.parse(text)) as T };
}

async function newPrompt(more: object = {}): Promise<string> {
  const name = `p-${crypto.randomUUID()}`;
  expect((await call("/repos", { repo_handle: name, ...more })).status).toBe(200);
  return name;
}

const commit = async (name: string, template: string, parent?: string) =>
  call<{ commit: Commit; detail?: string }>(`/commits/-/${name}`, { manifest: { template }, parent_commit: parent });

async function createCommit(name: string, template: string, parent?: string): Promise<Commit> {
  const { status, json } = await commit(name, template, parent);
  expect([status, json.detail]).toEqual([200, undefined]);
  return json.commit;
}

const pull = async (name: string, word: string) =>
  call<{ commit_hash: string; manifest: object; detail: string }>(`/commits/-/${name}/${word}`);

describe("a commit", () => {
  it("comes after the latest one only", async () => {
    const name = await newPrompt();
    expect((await commit(name, "a", "0".repeat(64))).status).toBe(409);
    const first = await createCommit(name, "a");
    for (const parent of [undefined, "0".repeat(64), first.commit_hash.slice(0, 7)]) {
      const refused = await commit(name, "b", parent);
      expect([refused.status, refused.json.detail]).toEqual([409, expect.stringContaining(first.commit_hash)]);
    }
    const second = await createCommit(name, "b", first.commit_hash.slice(0, 8));
    expect(second.parent_commit_hash).toBe(first.commit_hash);
    expect((await commit(name, "c", first.commit_hash)).status).toBe(409);
    await createCommit(name, "a", "latest");
  });

  it("of two at the same time is one, and the other is a conflict", async () => {
    const name = await newPrompt();
    const first = await createCommit(name, "a");
    const statuses = await Promise.all(
      ["b", "c", "d"].map(async (text) => (await commit(name, text, first.commit_hash)).status),
    );
    expect(statuses.toSorted((a, b) => a - b)).toEqual([200, 409, 409]);
    const { json } = await call<{ commits: Commit[]; total: number }>(`/commits/-/${name}`);
    expect([json.total, json.commits.length]).toEqual([2, 2]);
  });

  it("is one of at most 10,000", async () => {
    const name = await newPrompt();
    await createCommit(name, "a");
    const fillCommits = async (commits: number) =>
      env.DB.prepare("UPDATE prompts SET commits = ? WHERE name = ?").bind(commits, name).run();
    await fillCommits(10_000);
    const { status, json } = await commit(name, "b", "latest");
    expect([status, json.detail]).toEqual([409, "A prompt has at most 10000 commits."]);
    await fillCommits(9_999);
    await createCommit(name, "b", "latest");
  });

  it("with the content of the latest is none, however its members are ordered", async () => {
    const name = await newPrompt();
    await call(`/commits/-/${name}`, { manifest: { a: 1, b: { c: 2, d: 3 } } });
    const same = { manifest: { b: { d: 3, c: 2 }, a: 1 }, parent_commit: "latest" };
    const { status, json } = await call<{ detail: string }>(`/commits/-/${name}`, same);
    expect([status, json.detail]).toEqual([409, expect.stringContaining("Nothing to commit")]);
  });

  it("has the hash of its content and its parent's", async () => {
    const [one, two] = [await newPrompt(), await newPrompt()];
    const [a, b] = [await createCommit(one, "same"), await createCommit(two, "same")];
    expect(a.commit_hash).toMatch(/^[0-9a-f]{64}$/);
    expect(b.commit_hash).toBe(a.commit_hash);
    const other = await createCommit(one, "other", "latest");
    expect((await createCommit(one, "same", "latest")).commit_hash).not.toBe(a.commit_hash);
    expect((await createCommit(two, "other", "latest")).commit_hash).toBe(other.commit_hash);
  });

  it("holds at most 1 MB and nests at most 500 levels", async () => {
    const name = await newPrompt();
    expect((await commit(name, "x".repeat(1_000_000))).status).toBe(200);
    expect((await commit(name, "x".repeat(1_100_000), "latest")).status).toBe(422);
    let deep: object = {};
    for (let level = 0; level < 501; level++) deep = { deep };
    expect((await call(`/commits/-/${name}`, { manifest: deep, parent_commit: "latest" })).status).toBe(422);
    for (const manifest of [undefined, null, "text", [1]]) {
      expect((await call(`/commits/-/${name}`, { manifest, parent_commit: "latest" })).status).toBe(422);
    }
  });

  it("is listed newest first, without manifests where a page holds more than 4 MB", async () => {
    const name = await newPrompt();
    for (const n of [0, 1, 2, 3, 4])
      await createCommit(name, `${n}${"x".repeat(900_000)}`, n === 0 ? undefined : "latest");
    const page = async (query: string) =>
      (await call<{ commits: Commit[] }>(`/commits/-/${name}${query}`)).json.commits;
    expect((await page("")).map(({ manifest }) => manifest)).toEqual([null, null, null, null, null]);
    const [third] = await page("?limit=1&offset=2");
    expect(JSON.stringify(third?.manifest)).toContain('"2x');
  });
});

describe("a word", () => {
  it("names the latest commit, a tag, an id or a hash", async () => {
    const name = await newPrompt();
    const first = await createCommit(name, "a");
    const second = await createCommit(name, "b", "latest");
    await call(`/repos/-/${name}/tags`, { tag_name: "prod", commit_id: first.id });
    const findCommit = async (word: string) => (await pull(name, word)).json.commit_hash;
    expect(await findCommit("latest")).toBe(second.commit_hash);
    for (const word of ["prod", first.id, first.commit_hash, first.commit_hash.slice(0, 8)])
      expect([word, await findCommit(word)]).toEqual([word, first.commit_hash]);
    for (const word of ["dev", first.commit_hash.slice(0, 7), "0".repeat(8), "%25", "________"])
      expect([word, (await pull(name, word)).status]).toEqual([word, 404]);
  });

  it("of a prompt without commits is a 404", async () => {
    expect((await pull(await newPrompt(), "latest")).status).toBe(404);
  });
});

describe("a tag", () => {
  it("moves, is listed, and is deleted", async () => {
    const name = await newPrompt();
    const first = await createCommit(name, "a");
    const second = await createCommit(name, "b", "latest");
    const path = `/repos/-/${name}/tags`;
    await call(path, { tag_name: "prod", commit_id: first.id });
    await call(path, { tag_name: "prod", commit_id: second.id });
    await call(path, { tag_name: "dev", commit_id: first.commit_hash });
    const { json: tags } = await call<{ tag_name: string; commit_hash: string }[]>(path);
    expect(tags).toMatchObject([
      { tag_name: "dev", commit_hash: first.commit_hash },
      { tag_name: "prod", commit_hash: second.commit_hash },
    ]);
    await call(`${path}/prod`, { commit_id: first.id }, "PATCH");
    expect((await pull(name, "prod")).json.commit_hash).toBe(first.commit_hash);
    expect((await call(`${path}/prod`, undefined, "DELETE")).status).toBe(204);
    expect((await pull(name, "prod")).status).toBe(404);
    expect((await call(`${path}/prod`, { commit_id: first.id }, "PATCH")).status).toBe(404);
  });

  it("is not the name of a commit, and names one that exists", async () => {
    const name = await newPrompt();
    const { id } = await createCommit(name, "a");
    for (const tag_name of ["latest", "deadbeef", "a/b", "", "a:b"])
      expect([tag_name, (await call(`/repos/-/${name}/tags`, { tag_name, commit_id: id })).status]).toEqual([
        tag_name,
        422,
      ]);
    expect((await call(`/repos/-/${name}/tags`, { tag_name: "prod", commit_id: crypto.randomUUID() })).status).toBe(
      404,
    );
  });

  it("is one of at most 100, all of which move", async () => {
    const name = await newPrompt();
    const { id } = await createCommit(name, "a");
    const tag = async (tag_name: string) => (await call(`/repos/-/${name}/tags`, { tag_name, commit_id: id })).status;
    await env.DB.prepare(
      `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 99)
       INSERT INTO prompt_tags (id, prompt_id, name, commit_id, created_at, updated_at)
       SELECT 't' || i, c.prompt_id, 't' || i, c.id, 0, 0 FROM n, prompt_commits c WHERE c.id = ?`,
    )
      .bind(id)
      .run();
    expect([await tag("last"), await tag("more"), await tag("last")]).toEqual([200, 409, 200]);
  });

  it("of another prompt's commit is refused", async () => {
    const [one, two] = [await newPrompt(), await newPrompt()];
    const { id } = await createCommit(one, "a");
    await createCommit(two, "a");
    expect((await call(`/repos/-/${two}/tags`, { tag_name: "prod", commit_id: id })).status).toBe(404);
  });
});

describe("a prompt", () => {
  const list = async (query: string) => (await call<{ repos: Prompt[]; total: number }>(`/repos?${query}`)).json;

  it("has a name that no other has", async () => {
    const name = await newPrompt();
    expect((await call("/repos", { repo_handle: name })).status).toBe(409);
    for (const repo_handle of ["", "a/b", "a:b", "-a", "a b", "x".repeat(201)])
      expect([repo_handle, (await call("/repos", { repo_handle })).status]).toEqual([repo_handle, 422]);
  });

  it("is of the workspace under - and its handle, and of no other owner", async () => {
    const name = await newPrompt();
    const { json } = await call<{ tenant_handle: string; id: string }>("/settings");
    expect(json).toMatchObject({ tenant_handle: "test", id: caller.workspaceId });
    for (const [owner, status] of [
      ["-", 200],
      ["test", 200],
      ["other", 404],
    ])
      expect((await call(`/repos/${owner}/${name}`)).status).toBe(status);
  });

  it("is found by name, description and label, archived or not", async () => {
    const word = crypto.randomUUID();
    const [one, two] = [await newPrompt({ description: `Says ${word}`, tags: [word] }), await newPrompt()];
    await call(`/repos/-/${two}`, { is_archived: true }, "PATCH");
    const names = async (query: string) => (await list(query)).repos.map(({ repo_handle }) => repo_handle);
    expect(await names(`query=${word.toUpperCase()}`)).toEqual([one]);
    expect(await names(`query=${two}`)).toEqual([two]);
    expect(await names(`query=${two}&is_archived=false`)).toEqual([]);
    expect(await names(`tags=${word}`)).toEqual([one]);
    expect(await names(`tags=${word}&has_commits=true`)).toEqual([]);
    expect(await list(`query=${word}&is_public=true`)).toEqual({ repos: [], total: 0 });
    expect((await list(`limit=1`)).total).toBeGreaterThan(1);
    expect((await call("/repos?tenant=x")).status).toBe(422);
  });

  it("is changed by what is given", async () => {
    const name = await newPrompt({ description: "one", readme: "read" });
    const { json } = await call<{ repo: Prompt }>(`/repos/-/${name}`, { description: "two" }, "PATCH");
    expect(json.repo).toMatchObject({ description: "two", readme: "read", full_name: `-/${name}` });
  });

  it("is liked once by a person, and first in a list by likes", async () => {
    const label = crypto.randomUUID();
    const [one] = [await newPrompt({ tags: [label] }), await newPrompt({ tags: [label] })];
    const setLike = async (likes: boolean) =>
      (await call<{ likes: number }>(`/likes/-/${one}`, { like: likes })).json.likes;
    expect([await setLike(true), await setLike(true)]).toEqual([1, 1]);
    const { repos } = await list(`tags=${label}&sort_field=num_likes`);
    expect(repos.map(({ num_likes, liked_by_auth_user }) => [num_likes, liked_by_auth_user])).toEqual([
      [1, true],
      [0, false],
    ]);
    const other = await caller.fetch("/api/v1/api-keys", { body: { name: "other", scopes: ["read", "write"] } });
    const { key } = await other.json<{ key: string }>();
    const byOther = { headers: { "x-api-key": key } };
    const seen = await (await caller.fetch(`/repos/-/${one}`, byOther)).json<{ repo: Prompt }>();
    expect([seen.repo.num_likes, seen.repo.liked_by_auth_user]).toEqual([1, false]);
    const liked = await caller.fetch(`/likes/-/${one}`, { ...byOther, body: { like: true } });
    expect(await liked.json()).toEqual({ likes: 2 });
    expect([await setLike(false), await setLike(false)]).toEqual([1, 1]);
  });

  it("is listed by its last change, or the other way round, a page at a time", async () => {
    const label = crypto.randomUUID();
    const made = [];
    for (let n = 0; n < 3; n++) {
      const name = await newPrompt({ tags: [label] });
      await env.DB.prepare("UPDATE prompts SET updated_at = ? WHERE name = ?").bind(n, name).run();
      made.push(name);
    }
    const [a = "", b, c] = made;
    await createCommit(a, "changed");
    const names = async (query: string) =>
      (await list(`tags=${label}&${query}`)).repos.map(({ repo_handle }) => repo_handle);
    expect(await names("limit=2")).toEqual([a, c]);
    expect(await names("limit=2&offset=2")).toEqual([b]);
    expect(await names("sort_field=num_likes")).toEqual([a, c, b]);
    expect(await names("sort_direction=asc")).toEqual([b, c, a]);
    expect((await list(`tags=${label}&limit=1`)).total).toBe(3);
  });

  it("is not listed with others on a page of more than 12 MB", async () => {
    const label = crypto.randomUUID();
    for (let n = 0; n < 7; n++) await newPrompt({ tags: [label] });
    await env.DB.prepare(
      `UPDATE prompts SET about = json_object('description', 'd', 'readme', replace(hex(zeroblob(300000)), '00', 'äää'))
       WHERE instr(labels, ?)`,
    )
      .bind(label)
      .run();
    expect((await call(`/repos?tags=${label}`)).status).toBe(413);
    expect((await list(`tags=${label}&limit=6`)).repos).toHaveLength(6);
  });

  it("leaves nothing when it is deleted", async () => {
    const name = await newPrompt();
    const { id } = await createCommit(name, "a");
    await call(`/repos/-/${name}/tags`, { tag_name: "prod", commit_id: id });
    await call(`/likes/-/${name}`, { like: true });
    const { repo } = (await call<{ repo: { id: string } }>(`/repos/-/${name}`)).json;
    expect((await call(`/repos/-/${name}`, undefined, "DELETE")).status).toBe(200);
    for (const table of ["prompt_commits", "prompt_tags", "prompt_likes"]) {
      const row = await env.DB.prepare(`SELECT count(*) AS n FROM ${table} WHERE prompt_id = ?`).bind(repo.id).first();
      expect([table, row?.n]).toEqual([table, 0]);
    }
    expect((await pull(name, "latest")).status).toBe(404);
    expect((await call("/repos", { repo_handle: name })).json).toMatchObject({
      repo: { num_commits: 0, num_likes: 0 },
    });
    await createCommit(name, "again");
    expect((await call(`/repos/-/${name}/tags`)).json).toEqual([]);
  });

  it("is not public, and no agent or skill is one", async () => {
    const repo_handle = `p-${crypto.randomUUID()}`;
    expect((await call("/repos", { repo_handle, is_public: true })).status).toBe(501);
    expect((await call("/repos", { repo_handle, repo_type: "agent" })).status).toBe(501);
    expect((await call("/repos?repo_type=skill")).status).toBe(501);
  });
});

it("a prompt with its model is pulled without it, unless it is requested", async () => {
  const name = await newPrompt();
  const lc = (id: string, kwargs: object) => ({ lc: 1, type: "constructor", id: ["langchain", id], kwargs });
  const first = lc("ChatPromptTemplate", { messages: [] });
  const model = lc("ChatOpenAI", { model: "gpt" });
  const manifest = lc("RunnableSequence", { first, last: lc("RunnableBinding", { bound: model }) });
  await call(`/commits/-/${name}`, { manifest });
  expect((await pull(name, "latest")).json).toMatchObject({ manifest: first, model_provider: null });
  expect((await pull(name, "latest?include_model=true")).json).toMatchObject({
    manifest,
    model_provider: "ChatOpenAI",
    model_config: { model: "gpt" },
  });
});

it("a workspace has at most 1,000 prompts", async () => {
  const full = await newCaller();
  await env.DB.prepare(
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 999)
     INSERT INTO prompts (id, workspace_id, name, about, labels, created_at, updated_at)
     SELECT ?1 || i, ?1, 'p' || i, '{}', '[]', 0, 0 FROM n`,
  )
    .bind(full.workspaceId)
    .run();
  const create = async (repo_handle: string) => (await full.fetch("/repos", { body: { repo_handle } })).status;
  expect([await create("last"), await create("more")]).toEqual([200, 409]);
});
