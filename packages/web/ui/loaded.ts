import { type ComponentType, useEffect, useRef, useState } from "react";

/**
 * A component whose code is loaded when it is wanted first. A lazy component takes the whole page away when its code does not
 * load, such as offline, and is not loaded again: here `onFailed` says that it is not to be had now.
 */
export function useLoaded<P>(
  load: () => Promise<ComponentType<P>>,
  wanted: boolean,
  onFailed: () => void,
): { Loaded: ComponentType<P> | undefined } {
  const [Loaded, setLoaded] = useState<ComponentType<P>>();
  const failed = useRef(onFailed);
  useEffect(() => {
    failed.current = onFailed;
  });
  useEffect(() => {
    if (!wanted || Loaded) return;
    let left = false;
    load().then(
      (component) => left || setLoaded(() => component),
      () => left || failed.current(),
    );
    return () => {
      left = true;
    };
  }, [load, wanted, Loaded]);
  return { Loaded };
}
