/** A drawing in a pane: made smaller until all of it is in view. The buttons zoom, and fit it again. */
import { Minus, Plus, Scan } from "lucide-react";
import { type ReactNode, useLayoutEffect, useRef, useState } from "react";
import css from "./Fitted.module.css";
import { IconButton } from "../../ui/Button.tsx";

/** A drawing that is fitted is not smaller than this: its words could not be read. It scrolls then. */
const LEAST = 0.3;
const MOST = 2;
const STEP = 1.25;
/** Pixels around the drawing. */
const AROUND = 16;

export function Fitted({
  label,
  width,
  height,
  children,
}: {
  label: string;
  width: number;
  height: number;
  children: ReactNode;
}) {
  const pane = useRef<HTMLElement>(null);
  const [fit, setFit] = useState(1);
  const [chosen, setChosen] = useState<number>();
  useLayoutEffect(() => {
    const element = pane.current;
    if (!element) return;
    const measure = () => {
      // With the room of scroll bars: they are there only while the drawing does not fit.
      const across = (element.offsetWidth - 2 * AROUND) / width;
      const down = (element.offsetHeight - 2 * AROUND) / height;
      setFit(Math.max(LEAST, Math.min(1, across, down)));
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, [width, height]);
  const scale = chosen ?? fit;
  return (
    <div className={css.frame}>
      {/* A box that scrolls must be reachable by keyboard. */}
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <section ref={pane} className={css.pane} style={{ padding: AROUND }} aria-label={label} tabIndex={0}>
        <div className={css.canvas} style={{ width, height, zoom: scale }}>
          {children}
        </div>
      </section>
      <div className={css.tools} role="group" aria-label="Size of the graph">
        <IconButton label="Zoom out" disabled={scale <= LEAST} onClick={() => setChosen(Math.max(LEAST, scale / STEP))}>
          <Minus size={16} aria-hidden />
        </IconButton>
        <IconButton label="Zoom in" disabled={scale >= MOST} onClick={() => setChosen(Math.min(MOST, scale * STEP))}>
          <Plus size={16} aria-hidden />
        </IconButton>
        <IconButton label="Fit to the pane" disabled={chosen === undefined} onClick={() => setChosen(undefined)}>
          <Scan size={16} aria-hidden />
        </IconButton>
      </div>
    </div>
  );
}
