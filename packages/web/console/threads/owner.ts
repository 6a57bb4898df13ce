import type { ThreadRow } from "../../api/types.ts";

export const text = (value: unknown) => (typeof value === "string" ? value : "");

/** Who a thread belongs to: what an auth handler noted in its metadata. */
export const readOwner = ({ metadata }: ThreadRow) =>
  text(metadata?.owner) || text(metadata?.user_id) || text(metadata?.user);
