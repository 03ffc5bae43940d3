const { NoticeQueue } = require('notice-queue');
const { createApp } = require('./app.js');

const notices = NoticeQueue.fromEnv();
const server = createApp(notices).listen(process.env.PORT ?? 3000, '127.0.0.1', () => {
  console.log(`listening on ${server.address().port}`);
});
process.once('SIGTERM', () => server.close(() => void notices.close()));
