// The producer and the push consumer of Apache's Node gRPC client, through a proxy.
// produce PROXY TOPIC COUNT or consume PROXY TOPIC GROUP; prints what the Java ones print.
'use strict';

const { ConsumeResult, Producer, PushConsumer } = require('rocketmq-client-nodejs');

async function produce(proxy, topic, count) {
  const producer = new Producer({ endpoints: proxy, namespace: '', requestTimeout: 10000 });
  await producer.startup();
  console.log('READY');
  for (let n = 0; n < count; n++) {
    try {
      await producer.send({ topic, body: Buffer.from(String(n)) });
      console.log(`SENT ${n}`);
    } catch (error) {
      console.log(`FAILED ${n} ${error}`);
    }
  }
  console.log('DONE');
  await producer.shutdown();
}

async function consume(proxy, topic, group) {
  const consumer = new PushConsumer({
    endpoints: proxy,
    namespace: '',
    consumerGroup: group,
    subscriptions: new Map([[topic, '*']]),
    messageListener: {
      async consume(message) {
        console.log(`GOT ${message.body.toString()}`);
        return ConsumeResult.SUCCESS;
      },
    },
  });
  await consumer.startup();
  console.log('READY');
  await new Promise((resolve) => process.once('SIGTERM', resolve));
  await consumer.shutdown();
  console.log('DONE');
}

const [mode, proxy, topic, last] = process.argv.slice(2);
const run = mode === 'produce' ? produce(proxy, topic, Number(last)) : consume(proxy, topic, last);
run.then(() => process.exit(0), (error) => {
  console.log('FAILED', error);
  process.exit(1);
});
