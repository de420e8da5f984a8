// The producer and the push consumer of the Node client rocketmq, whose calls are generators.
// produce NAMESERVERS TOPIC COUNT or consume NAMESERVERS TOPIC GROUP; prints what the Java ones print.
'use strict';

const co = require('co');
const { Consumer, Message, Producer } = require('rocketmq');

// Sent again after the usual 3 s, a message would be there twice.
const sendMsgTimeout = 10000;

const logger = { info() {}, debug() {}, warn: console.error, error: console.error };
// httpclient is required, and used only by those who look their name servers up on a web server.
const keys = { accessKey: process.env.INTEROP_ACCESS_KEY, secretKey: process.env.INTEROP_SECRET_KEY };
const common = { httpclient: {}, logger, ...(keys.accessKey ? keys : {}) };

function* produce(namesrvAddr, topic, count) {
  const producer = new Producer({ ...common, namesrvAddr, producerGroup: 'interop-node-producer', sendMsgTimeout });
  producer.on('error', (error) => console.log('FAILED', error));
  yield new Promise((resolve) => producer.ready(resolve));
  console.log('READY');
  for (let n = 0; n < count; n++) {
    try {
      const result = yield producer.send(new Message(topic, '*', String(n)));
      console.log(result.sendStatus === 'SEND_OK' ? `SENT ${n}` : `FAILED ${n} ${result.sendStatus}`);
    } catch (error) {
      console.log(`FAILED ${n} ${error}`);
    }
  }
  console.log('DONE');
}

function* consume(namesrvAddr, topic, consumerGroup) {
  const consumer = new Consumer({ ...common, namesrvAddr, consumerGroup, isBroadcast: false });
  consumer.on('error', (error) => console.log('FAILED', error));
  consumer.subscribe(topic, '*', function* (message) {
    console.log(`GOT ${message.body.toString()}`);
  });
  yield new Promise((resolve) => consumer.ready(resolve));
  console.log('READY');
  yield new Promise((resolve) => process.once('SIGTERM', resolve));
  console.log('DONE');
}

const [mode, servers, topic, last] = process.argv.slice(2);
const run = mode === 'produce' ? produce(servers, topic, Number(last)) : consume(servers, topic, last);
co(run).then(() => process.exit(0), (error) => {
  console.log('FAILED', error);
  process.exit(1);
});
