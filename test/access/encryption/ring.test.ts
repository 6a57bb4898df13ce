/** What a sealed text opens with, and what it does not. */
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { freshRing, ringFrom, loadRing, withRing, wrapNewKey } from "../../../src/access/encryption/keys.ts";
import { Ring } from "../../../src/access/encryption/ring.ts";
import { newCaller } from "../../support/caller.ts";

const MOVED = "belongs to another place";

const id = (n: number) => String(n).padStart(16, "0");

async function newRing(workspaceId = crypto.randomUUID(), count = 1): Promise<Ring> {
  const rows = Array.from({ length: count }, async (_, n) => ({
    id: id(n),
    wrapped: await wrapNewKey(env, workspaceId, id(n)),
  }));
  return ringFrom(env, workspaceId, await Promise.all(rows));
}

/** The ring with some of its rows destroyed or left out. */
const changeRing = async (ring: Ring, rows: Ring["rows"]) => ringFrom(env, ring.workspaceId, rows);

describe("a sealed text", () => {
  it.each(["", "{}", "ü🎨\u0000", "x".repeat(1_000_000)])("opens at its place: %#", async (text) => {
    const ring = await newRing();
    const sealed = ring.seal(text, ["thread", "t", "runs", "r"]);
    expect(sealed).not.toContain(text.slice(0, 5) || "\n");
    expect(ring.seal(text, ["thread", "t", "runs", "r"])).not.toBe(sealed);
    expect(ring.open(sealed, ["thread", "t", "runs", "r"])).toBe(text);
  });

  it.each([
    ["another row", ["thread", "t", "runs", "other"]],
    ["another column", ["thread", "t", "tasks", "r"]],
    ["another thread", ["thread", "u", "runs", "r"]],
    ["a place of other parts", ["thread", "t", "runs,r"]],
  ])("does not open at %s", async (_, place) => {
    const ring = await newRing();
    const sealed = ring.seal("said", ["thread", "t", "runs", "r"]);
    expect(() => ring.open(sealed, place)).toThrow(MOVED);
  });

  it("does not open in another workspace, with another key, or changed", async () => {
    const ring = await newRing();
    const sealed = ring.seal("said", ["p"]);
    expect(() => new Ring("other", ring.rows, ring["keys"]).open(sealed, ["p"])).toThrow(MOVED);
    const other = await newRing(crypto.randomUUID());
    expect(() => other.open(sealed, ["p"])).toThrow(MOVED);
    const last = sealed.at(-3) === "A" ? "B" : "A";
    expect(() => ring.open(sealed.slice(0, -3) + last + sealed.slice(-2), ["p"])).toThrow(MOVED);
  });

  it("cannot be unwrapped under another workspace or id", async () => {
    const wrapped = await wrapNewKey(env, "a", id(1));
    await expect(ringFrom(env, "b", [{ id: id(1), wrapped }])).rejects.toThrow(/decrypt|operation/i);
    await expect(ringFrom(env, "a", [{ id: id(2), wrapped }])).rejects.toThrow(/decrypt|operation/i);
  });

  it("needs its key: 410 once that is destroyed, also where another one encrypts", async () => {
    const ring = await newRing(undefined, 2);
    const [first, second] = ring.rows as [Ring["rows"][0], Ring["rows"][0]];
    const before = await changeRing(await newRing(crypto.randomUUID()), [first]).catch(() => ring);
    expect(before).toBe(ring);
    const old = new Ring(ring.workspaceId, [first], ring["keys"]).seal("said", ["p"]);
    expect(ring.open(old, ["p"])).toBe("said");
    const later = await changeRing(ring, [{ ...first, wrapped: null }, second]);
    expect(ring.hasLost(later)).toBe(true);
    expect(() => later.open(old, ["p"])).toThrow(/^Problem:410:.*destroyed/);
    expect(later.open(later.seal("said", ["p"]), ["p"])).toBe("said");
    expect(await changeRing(ring, ring.rows)).toBe(later);
  });

  it("is what a client sent, where no key of the workspace has its id", async () => {
    const { workspaceId } = await newCaller();
    const fake = `\u00021.${id(7)}.AAAA`;
    expect((await freshRing(env, workspaceId)).open(fake, ["p"])).toBe(fake);
    expect(() => new Ring(workspaceId).open(fake, ["p"])).toThrow(/^Problem:410/);
    expect(new Ring(workspaceId).open("\u0002other", ["p"])).toBe("\u0002other");
  });
});

it("a text with an unknown key costs no other workspace a read", async () => {
  const [{ workspaceId: other }, { workspaceId }] = [await newCaller(), await newCaller()];
  const known = await loadRing(env, other);
  const fake = `\u00021.${id(7)}.AAAA`;
  expect(await withRing(env, workspaceId, (ring) => ring.open(fake, ["p"]))).toBe(fake);
  const without = { ...env, DB: undefined as unknown as D1Database };
  expect(await loadRing(without, other)).toBe(known);
  expect(await loadRing(without, workspaceId)).toBeInstanceOf(Ring);
});

it("a keyed hash does not confirm a guess", async () => {
  const [one, other] = [await newRing(), await newRing()];
  expect(one.hash("said")).toBe(one.hash("said"));
  expect(new Set([one.hash("said"), other.hash("said"), new Ring("w").hash("said")]).size).toBe(3);
});
