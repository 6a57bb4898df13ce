/** What flow control must do, in the plainest way: every question is answered by a look at all claims. */
import type { SlotLease } from "../../../src/limits/flow/book.ts";
import type { FlowLimits, SlotNeed } from "../../../src/limits/flow/run-flow.ts";

const MINUTE = 60_000;

interface Known {
  claim: SlotLease;
  granted?: number;
  ended?: number;
  tokens: number;
}

export class Reference {
  readonly all: Known[] = [];
  /** The lanes in the order of their last grants, the latest last. */
  #turns: string[] = [];

  constructor(private readonly ruleLimits: (rule: string) => FlowLimits | undefined) {}

  limits({ rule, limits }: SlotNeed): FlowLimits {
    return limits ?? this.ruleLimits(rule) ?? {};
  }

  listHeld(need: SlotNeed): Known[] {
    return this.#of(need).filter(({ granted, ended }) => granted !== undefined && ended === undefined);
  }

  countStarts(need: SlotNeed, now: number): number {
    return this.#of(need).filter(({ granted = -Infinity }) => granted > now - MINUTE).length;
  }

  countTokens(need: SlotNeed, now: number): number {
    const ended = this.#of(need).filter(({ ended = -Infinity }) => ended > now - MINUTE);
    return ended.reduce((sum, { tokens }) => sum + tokens, 0);
  }

  /** The first claims of lanes with several needs that have waited to the highest level, and are not paused. */
  listServed(now: number): SlotLease[] {
    const waiting = this.all.filter(({ granted, ended }) => granted === undefined && ended === undefined);
    const several = waiting.map(({ claim }) => claim).filter(({ needs }) => needs.length > 1);
    const old = several.filter((claim) => computeLevel(claim, now) === 9);
    const heads = old.filter((claim) => {
      return !several.some((one) => computeScore(one) < computeScore(claim) && toLane(one) === toLane(claim));
    });
    return heads.filter(({ needs }) => !needs.some((need) => this.limits(need).paused));
  }

  canBegin(claim: SlotLease, now: number, first: SlotLease[]): boolean {
    return claim.needs.every((need) => {
      const kept = first.filter(
        (one) =>
          computeScore(one) < computeScore(claim) &&
          one.needs.some(({ rule, key }) => rule === need.rule && key === need.key),
      ).length;
      const {
        paused,
        concurrency = Infinity,
        starts_per_minute = Infinity,
        tokens_per_minute = Infinity,
      } = this.limits(need);
      return (
        !paused &&
        this.listHeld(need).length + kept < concurrency &&
        this.countStarts(need, now) + kept < starts_per_minute &&
        this.countTokens(need, now) < tokens_per_minute &&
        (kept === 0 || tokens_per_minute === Infinity)
      );
    });
  }

  /** Grants what may begin, one after the other. The ids. */
  grant(now: number): string[] {
    const ids: string[] = [];
    for (;;) {
      const first = this.listServed(now);
      const able = this.all.filter(({ claim, granted, ended }) => {
        return granted === undefined && ended === undefined && this.canBegin(claim, now, first);
      });
      const [next] = able.toSorted((a, b) => {
        const lanes = this.#turns.indexOf(toLane(a.claim)) - this.#turns.indexOf(toLane(b.claim));
        const scores = computeScore(a.claim) - computeScore(b.claim);
        if (toLane(a.claim) === toLane(b.claim)) return scores;
        return computeLevel(b.claim, now) - computeLevel(a.claim, now) || lanes || scores;
      });
      if (!next) return ids;
      next.granted = now;
      this.#turns = [...this.#turns.filter((lane) => lane !== toLane(next.claim)), toLane(next.claim)];
      ids.push(next.claim.runId);
    }
  }

  #of({ rule, key }: SlotNeed): Known[] {
    return this.all.filter(({ claim }) => claim.needs.some((one) => one.rule === rule && one.key === key));
  }
}

const computeLevel = ({ due, priority }: SlotLease, now: number): number =>
  Math.min(9, Math.floor((now - due) / MINUTE) + priority);
const toLane = ({ needs, turn }: SlotLease): string => JSON.stringify([needs, turn]);
const computeScore = ({ due, priority }: SlotLease): number => due - priority * MINUTE;
