import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { housekeeping } from "../../../src/system/housekeeping.ts";
import { newCaller } from "../../support/caller.ts";
import { signIn } from "../../support/sessions.ts";
import { Browser, newClient, newTokens, request, withToken } from "./person.ts";

const DAY = 24 * 3600 * 1000;
/** The next minute of an hour in which OAuth is cleared. */
const now = Math.ceil(Date.now() / 3_600_000) * 3_600_000 + 17 * 60_000;

async function isKnown(client: string): Promise<boolean> {
  return (await new Browser().open(request(client))).status === 200;
}

async function rows(): Promise<Record<string, number>> {
  const counts = ["oauth_clients", "oauth_sign_ins", "oauth_codes", "oauth_tokens", "oauth_grants"].map(
    async (table) => [table, (await env.DB.prepare(`select count(*) as n from ${table}`).first<number>("n")) ?? 0],
  );
  return Object.fromEntries(await Promise.all(counts)) as Record<string, number>;
}

it("removes clients without a grant after a week, and what has expired, and nothing else", async () => {
  const caller = await newCaller();
  const used = await newTokens(caller);
  const unused = await newClient();
  await new Browser().signIn(request(unused), caller.key);
  await new Browser().allow(request(used.client), caller);

  await housekeeping(env, now + 6 * DAY);
  expect([await isKnown(unused), await isKnown(used.client)]).toEqual([true, true]);
  await housekeeping(env, now + 8 * DAY + 60_000);
  expect(await isKnown(unused)).toBe(true);
  await housekeeping(env, now + 8 * DAY);
  expect([await isKnown(unused), await isKnown(used.client)]).toEqual([false, true]);
  // Only the refresh token of the first grant is still valid; the second grant was never redeemed.
  expect(await rows()).toEqual({
    oauth_clients: 1,
    oauth_sign_ins: 0,
    oauth_codes: 0,
    oauth_tokens: 1,
    oauth_grants: 1,
  });
  expect((await withToken("/assistants/search", used.access_token, undefined, "POST")).status).toBe(401);

  await housekeeping(env, now + 40 * DAY);
  expect(await rows()).toEqual({
    oauth_clients: 1,
    oauth_sign_ins: 0,
    oauth_codes: 0,
    oauth_tokens: 0,
    oauth_grants: 0,
  });
});

it("removes sessions that have ended, and invitations a month after their end", async () => {
  const caller = await newCaller();
  const added = await caller.fetch("/api/v1/members", { body: { subject: crypto.randomUUID(), role: "viewer" } });
  const { id } = await added.json<{ id: string }>();
  await signIn(id);
  await caller.fetch("/api/v1/invitations", { body: { role: "viewer" } });
  const left = async () =>
    Promise.all(
      [
        env.DB.prepare("select count(*) as n from member_sessions where member_id = ?").bind(id),
        env.DB.prepare("select count(*) as n from invitations where workspace_id = ?").bind(caller.workspaceId),
      ].map((query) => query.first<number>("n")),
    );
  const hour = (days: number) => now + days * DAY;
  await housekeeping(env, now - 3_600_000);
  expect(await left()).toEqual([1, 1]);
  await housekeeping(env, hour(1));
  expect(await left()).toEqual([0, 1]);
  await housekeeping(env, hour(36));
  expect(await left()).toEqual([0, 1]);
  await housekeeping(env, hour(38));
  expect(await left()).toEqual([0, 0]);
  expect(await (await caller.fetch("/api/v1/members")).json()).toHaveLength(1);
});
