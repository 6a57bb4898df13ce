/** Keys of a workspace that encrypts. */
import { expect } from "vitest";
import type { Caller } from "./caller.ts";

export interface Key {
  id: string;
  version: number;
  status: string;
}

/** A new key of the workspace: the first one begins encryption, a later one takes the place of the one before. */
export async function makeKey(caller: Caller): Promise<Key> {
  const made = await caller.fetch("/api/v1/encryption-keys", { method: "POST" });
  expect(made.status).toBe(201);
  return made.json<Key>();
}
