/**
 * Menus and popovers whose code is loaded when they are wanted. What places them in the window weighs more than most views, and
 * the menus of a whole list take long to mount on a slow processor: until a button is pressed, it is a button alone.
 */
import { type ComponentType, type KeyboardEvent, type MouseEvent, useEffect, useRef, useState } from "react";

interface ButtonProps {
  type: "button";
  "aria-haspopup"?: "menu" | "dialog";
  "aria-expanded"?: false;
  onPointerEnter?: () => void;
  onFocus?: () => void;
  onClick?: (event: MouseEvent) => void;
  onKeyDown?: (event: KeyboardEvent) => void;
}

/**
 * What a button opens: a component that is open as it mounts, and has the button as its trigger. Undefined until the button was
 * pressed and the code is there. The pointer or the focus on the button loads the code.
 */
export function usePressed<P>(
  load: () => Promise<ComponentType<P>>,
  kind: "menu" | "dialog" = "menu",
): { Opened: ComponentType<P> | undefined; button: ButtonProps } {
  const [Opened, setOpened] = useState<ComponentType<P>>();
  const left = useRef(false);
  const byKey = useRef(false);
  useEffect(() => {
    left.current = false;
    return () => void (left.current = true);
  }, []);
  // A menu that opens by a key has the focus on its first item. It has not seen the key: it was mounted after that.
  useEffect(() => {
    if (Opened && byKey.current) document.dispatchEvent(new KeyboardEvent("keydown"));
  }, [Opened]);
  if (Opened) return { Opened, button: { type: "button" } };
  // Code that does not load is loaded by the next press.
  const ahead = () => void load().catch(() => undefined);
  const press = (isKey: boolean) => {
    byKey.current = isKey;
    void load().then(
      (component) => left.current || setOpened(() => component),
      () => undefined,
    );
  };
  const button: ButtonProps = {
    type: "button",
    "aria-haspopup": kind,
    "aria-expanded": false,
    onPointerEnter: ahead,
    onFocus: ahead,
    // A key presses a button with no clicks counted.
    onClick: ({ detail }) => press(detail === 0),
    onKeyDown: (event) => {
      if (kind !== "menu" || event.key !== "ArrowDown") return;
      event.preventDefault();
      press(true);
    },
  };
  return { Opened, button };
}

/**
 * A component whose code is loaded when it is wanted first. A lazy component takes the whole page away when its code does not
 * load, such as offline, and is not loaded again: here `onFailed` says that it is unavailable.
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
