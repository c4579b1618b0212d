import { createHmac, timingSafeEqual } from "node:crypto";

/** Oldest signature that is still accepted, in seconds: long enough for our retries, short enough against replays. */
const MAX_AGE_SECONDS = 300;

export type WebhookEvent = {
  kind: "tour.planned" | "tour.changed" | "parcel.delivered";
  sentAt: number; // seconds since 1970
  payload: unknown;
};

/** Returns the event when `signature` (header X-LW-Signature) was made with `secret`; throws otherwise. */
export function verifyWebhook(body: string, signature: string, secret: string, now: number): WebhookEvent {
  const expected = createHmac("sha256", secret).update(body).digest();
  const given = Buffer.from(signature, "hex");
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) {
    throw new Error("webhook signature does not match");
  }
  const event = JSON.parse(body) as WebhookEvent;
  if (now - event.sentAt > MAX_AGE_SECONDS) {
    throw new Error("webhook is older than five minutes");
  }
  return event;
}
