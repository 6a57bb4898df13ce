/** A client that never got the answer to a refresh can ask again; a token that is used after its successor ends the grant. */
import { beforeEach, describe, expect, it } from "vitest";
import { readError, newTokens, refresh, type Tokens, withToken } from "../access/oauth/person.ts";
import { newCaller } from "../support/caller.ts";

let client: string;
let first: Tokens;
beforeEach(async () => {
  const tokens = await newTokens(await newCaller());
  ({ client } = tokens);
  first = tokens;
});

async function refreshTokens({ refresh_token }: Tokens): Promise<Tokens> {
  const response = await refresh(client, refresh_token);
  expect(response.status).toBe(200);
  return response.json<Tokens>();
}
const expectRefused = async ({ refresh_token }: Tokens) =>
  expect(await readError(await refresh(client, refresh_token))).toEqual([400, "invalid_grant"]);
const works = async ({ access_token }: Tokens) =>
  (await withToken("/assistants/search", access_token, undefined, "POST")).status === 200;

describe("a refresh token", () => {
  it("stays good until its successor is used once", async () => {
    const lost = await refreshTokens(first);
    const second = await refreshTokens(first);
    expect(second.refresh_token).not.toBe(lost.refresh_token);
    const third = await refreshTokens(second);
    expect(await works(third)).toBe(true);
    await expectRefused(first);
    expect([await works(second), await works(third)]).toEqual([false, false]);
    await expectRefused(third);
  });

  it("can lose its answer at every step", async () => {
    let tokens = first;
    for (let i = 0; i < 3; i += 1) {
      await refreshTokens(tokens);
      tokens = await refreshTokens(tokens);
    }
    expect(await works(tokens)).toBe(true);
  });

  it("is the only one of its siblings that works: the first that is used", async () => {
    const thief = await refreshTokens(first);
    const owner = await refreshTokens(first);
    const stolen = await refreshTokens(thief);
    await expectRefused(owner);
    expect([await works(stolen), await works(owner)]).toEqual([false, false]);
    await expectRefused(stolen);
  });

  it("used many times at once gives siblings, and the family continues with one of them", async () => {
    const all = await Promise.all(Array.from({ length: 8 }, () => refreshTokens(first)));
    const next = await refreshTokens(all[3] as Tokens);
    await refreshTokens(next);
    await expectRefused(all[0] as Tokens);
  });
});
