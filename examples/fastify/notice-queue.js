import fastifyPlugin from 'fastify-plugin';
import { NoticeQueue } from 'notice-queue';

/** Gives the application `app.notices`: that of the options, or one of the environment. */
export const noticeQueue = fastifyPlugin(async (app, { notices = NoticeQueue.fromEnv() }) => {
  app.decorate('notices', notices);
  app.addHook('onClose', () => notices.close());
});
