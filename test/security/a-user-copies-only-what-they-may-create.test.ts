/** A copy of a thread is a new thread: `threads:create` decides, besides `threads:read`, and makes it the copier's. */
import { expect, it } from "vitest";
import { deployUsers, type Json, ownAuth, userCalled } from "./users.ts";

deployUsers(
  ownAuth()
    .on("threads:read", () => true)
    .on("threads:create", ({ value, user }) => {
      if (user.identity === "reader") return false;
      const given = value as { metadata?: Json };
      given.metadata = { ...given.metadata, owner: user.identity };
      return { owner: user.identity };
    }),
);

it("is refused to a user who may only read, and belongs to the one who copies", async () => {
  const { thread_id } = await userCalled("ada").json("/threads", { metadata: { topic: "shared" } });
  const path = `/threads/${String(thread_id)}/copy`;
  expect((await userCalled("reader").fetch(path, {})).status).toBe(403);
  const copy = await userCalled("bob").json(path, {});
  expect(copy.metadata).toMatchObject({ topic: "shared", owner: "bob", thread_id: copy.thread_id });
  expect(await userCalled("bob").json("/threads/search", { metadata: { topic: "shared" } })).toHaveLength(1);
});
