/** A value that follows another one once that has stood still. */
import { useEffect, useState } from "react";

/** `ms`: how long it has to stand still. */
export function useLater<T>(value: T, ms: number): T {
  const [later, setLater] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setLater(value), ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return later;
}
