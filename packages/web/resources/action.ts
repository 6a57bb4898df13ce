/** An action of a person: whether it is allowed, whether it is under way, and why it failed. */
import { useState } from "react";
import type { Permission } from "../../../src/http/principal.ts";
import { useRefusal } from "../api/me.ts";

export interface Action {
  busy: boolean;
  /** Why the caller may not do it. */
  refusal: string | undefined;
  /** For the button that starts it. */
  button: { disabled: boolean; title: string | undefined };
  /** Empty: nothing failed. */
  trouble: string;
  run: (work: () => Promise<void>) => Promise<void>;
}

/** @param needs what the server requires for each request of the action */
export function useAction(...needs: [Permission, ...Permission[]]): Action {
  const refusal = useRefusal(...needs);
  const [busy, setBusy] = useState(false);
  const [trouble, setTrouble] = useState("");
  const run = async (work: () => Promise<void>) => {
    if (refusal !== undefined) return setTrouble(refusal);
    setBusy(true);
    setTrouble("");
    try {
      await work();
    } catch (error) {
      setTrouble(error instanceof Error ? error.message : "It did not work.");
    } finally {
      setBusy(false);
    }
  };
  return { busy, refusal, button: { disabled: busy || refusal !== undefined, title: refusal }, trouble, run };
}
