/** Single tests that `npm test` leaves to `npm run test:all`, beside the files that end in `.slow.test.ts`. */
import { it } from "vitest";
import { ALL } from "./thorough.ts";

/** `it`, which defines no test in `npm test`: one that is skipped would fail CI. */
export const itThorough = (ALL ? it : () => undefined) as typeof it;
