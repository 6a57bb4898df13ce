/** The page's single live region for screen readers: at least one second between two texts. */
import { useEffect, useRef, useState } from "react";

export function Announcer({ text, alarm }: { text: string; alarm: string }) {
  const [said, setSaid] = useState("");
  const last = useRef(0);
  useEffect(() => {
    if (text === "") return;
    const wait = Math.max(0, last.current + 1_000 - Date.now());
    const timer = setTimeout(() => {
      last.current = Date.now();
      setSaid(text);
    }, wait);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <div className="visually-hidden">
      <div role="status">{said}</div>
      <div role="alert">{alarm}</div>
    </div>
  );
}
