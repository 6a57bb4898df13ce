/** An action of a person: whether it is under way, and why it failed. */
import { useState } from "react";

export interface Action {
  busy: boolean;
  /** Empty: nothing failed. */
  trouble: string;
  run: (work: () => Promise<void>) => Promise<void>;
}

export function useAction(): Action {
  const [busy, setBusy] = useState(false);
  const [trouble, setTrouble] = useState("");
  const run = async (work: () => Promise<void>) => {
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
  return { busy, trouble, run };
}
