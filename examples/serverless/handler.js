import { NoticeQueue } from 'notice-queue';

/** What the platform calls; a test gives it another queue. */
export const createHandler = (open) => {
  let notices;
  return async ({ id, order, phone }) => {
    notices ??= open();
    try {
      const receipt = await notices.send(
        { templateCode: 'ORDER_SHIPPED', contacts: [{ contact: phone, var1: order }] },
        { idempotencyKey: id },
      );
      return { statusCode: 202, body: JSON.stringify(receipt) };
    } catch (error) {
      // Thrown, so that the platform calls again.
      if (error.retryable) throw error;
      return { statusCode: 400, body: JSON.stringify({ code: error.code, issues: error.issues }) };
    }
  };
};

export const handler = createHandler(() => NoticeQueue.fromEnv());
