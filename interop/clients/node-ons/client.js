// The producer and the push consumer of the Node client ali-ons, which speaks to name servers and brokers itself.
// produce NAMESERVERS TOPIC COUNT or consume NAMESERVERS TOPIC GROUP; prints what the Java ones print.
'use strict';

const { Consumer, Message, Producer } = require('ali-ons');

// Sent again after the usual 3 s, a message would be there twice.
const sendMsgTimeout = 10000;

const logger = { info() {}, debug() {}, warn: console.error, error: console.error };

// Required, and used only by those who look their name servers up on a web server.
const keys = { accessKey: process.env.INTEROP_ACCESS_KEY, secretKey: process.env.INTEROP_SECRET_KEY };
const common = { httpclient: {}, ...(keys.accessKey ? keys : {}) };

async function produce(nameSrv, topic, count) {
  const producer = new Producer({ ...common, nameSrv, producerGroup: 'interop-node-producer', sendMsgTimeout, logger });
  producer.on('error', (error) => console.log('FAILED', error));
  await producer.ready();
  console.log('READY');
  for (let n = 0; n < count; n++) {
    try {
      const result = await producer.send(new Message(topic, String(n)));
      console.log(result.sendStatus === 'SEND_OK' ? `SENT ${n}` : `FAILED ${n} ${result.sendStatus}`);
    } catch (error) {
      console.log(`FAILED ${n} ${error}`);
    }
  }
  console.log('DONE');
  await producer.close();
}

async function consume(nameSrv, topic, group) {
  const consumer = new Consumer({ ...common, nameSrv, consumerGroup: group, isBroadcast: false, logger });
  consumer.on('error', (error) => console.log('FAILED', error));
  consumer.subscribe(topic, '*', async (message) => console.log(`GOT ${message.body.toString()}`));
  await consumer.ready();
  console.log('READY');
  await new Promise((resolve) => process.once('SIGTERM', resolve));
  await consumer.close();
  console.log('DONE');
}

const [mode, servers, topic, last] = process.argv.slice(2);
const run = mode === 'produce' ? produce(servers, topic, Number(last)) : consume(servers, topic, last);
run.then(() => process.exit(0), (error) => {
  console.log('FAILED', error);
  process.exit(1);
});
