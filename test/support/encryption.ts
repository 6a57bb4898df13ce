/** Keys of a workspace that encrypts. */
import { expect } from "vitest";
import type { Caller } from "./caller.ts";

/** A new key of the workspace: the first one begins encryption, a later one takes the place of the one before. */
export async function replaceKey(caller: Caller): Promise<void> {
  const made = await caller.fetch("/api/v1/encryption-keys", { method: "POST" });
  expect(made.status).toBe(201);
}
