/** Prompts of a workspace that encrypts: they read as in any other, D1 has nothing readable, and a destroyed key ends them. */
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { newCaller } from "../../support/caller.ts";
import { ask } from "../../support/examples.ts";

const SECRET = "the vault is behind the painting";

it("texts of prompts are sealed, and end with their key", async () => {
  const caller = await newCaller();
  const newKey = async () => ask<{ id: string }>(caller, "/api/v1/encryption-keys", { method: "POST" });
  const { id: key } = await newKey();
  const about = { description: SECRET, readme: SECRET };
  const { repo } = await ask<{ repo: { id: string } }>(caller, "/repos", { body: { repo_handle: "p", ...about } });
  const first = { manifest: { template: SECRET }, description: SECRET };
  await ask(caller, "/commits/-/p", { body: first });
  expect(await ask(caller, "/commits/-/p/latest")).toMatchObject(first);
  expect(await ask(caller, "/commits/-/p")).toMatchObject({ commits: [first] });
  expect(await ask(caller, "/repos/-/p")).toMatchObject({ repo: about });
  const again = { manifest: { template: SECRET }, parent_commit: "latest" };
  expect((await caller.fetch("/commits/-/p", { body: again })).status).toBe(409);

  const rows = await env.DB.prepare(
    "SELECT about, manifest, c.description FROM prompts p JOIN prompt_commits c ON c.prompt_id = p.id WHERE p.id = ?",
  )
    .bind(repo.id)
    .all();
  expect(rows.results).toHaveLength(1);
  expect(JSON.stringify(rows.results)).not.toContain("vault");

  await newKey();
  await ask(caller, `/api/v1/encryption-keys/${key}/destroy`, { body: { confirm: key } });
  expect((await caller.fetch("/commits/-/p/latest")).status).toBe(410);
  expect(await ask(caller, "/commits/-/p")).toMatchObject({ commits: [{ manifest: null, description: null }] });
  expect(await ask(caller, "/repos")).toMatchObject({ repos: [{ repo_handle: "p", description: null }] });
  const next = { manifest: { template: "new" }, parent_commit: "latest" };
  await ask(caller, "/commits/-/p", { body: next });
  expect(await ask(caller, "/commits/-/p/latest")).toMatchObject({ manifest: next.manifest });
  const changed = { repo: { description: "new", readme: null } };
  expect(await ask(caller, "/repos/-/p", { method: "PATCH", body: { description: "new" } })).toMatchObject(changed);
  expect(await ask(caller, "/repos/-/p")).toMatchObject(changed);
});
