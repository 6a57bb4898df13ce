/**
 * The clock of this isolate, which a test moves: what the Worker and its objects read as the time. Alarms follow it: an
 * alarm for a moment in five seconds comes in five seconds, also after a jump. An alarm that was set before a jump is
 * late or early, as on a machine whose clock was set.
 */
const real = Date.now.bind(Date);
let offset = 0;

/** Milliseconds by which the clock is ahead of the machine's. */
export const readOffset = (): number => offset;

/** How often the clock was moved. */
export const jumps = { count: 0 };

/** Moves the clock forwards, or backwards when `ms` is negative. */
export function jump(ms: number): void {
  jumps.count += 1;
  offset += ms;
}

/**
 * Puts the clock in place, until the returned function is called. `storage` is that of any object. The code under test reads
 * the time with `Date.now()` for every comparison of times. `late` is by how many milliseconds alarms come too late: a day leaves
 * them to `runDurableObjectAlarm`, which races with the runtime for an alarm that is due.
 */
export function installClock(storage: DurableObjectStorage, late = 0): () => void {
  const prototype = Object.getPrototypeOf(storage) as DurableObjectStorage;
  const setAlarm: DurableObjectStorage["setAlarm"] = Reflect.get(prototype, "setAlarm");
  const define = (value: unknown) =>
    Reflect.defineProperty(prototype, "setAlarm", { value, writable: true, configurable: true });
  Date.now = () => real() + offset;
  define(function (this: DurableObjectStorage, time: number | Date, ...rest: []) {
    return setAlarm.call(this, Number(time) - offset + late, ...rest);
  });
  return () => {
    Date.now = real;
    offset = 0;
    define(setAlarm);
  };
}
