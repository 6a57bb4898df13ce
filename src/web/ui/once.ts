import { useState } from "react";

/** Whether this was ever true: what is mounted when it is wanted stays mounted, with its state. */
export function useOnce(wanted: boolean): boolean {
  const [once, setOnce] = useState(wanted);
  if (wanted && !once) setOnce(true);
  return once || wanted;
}
