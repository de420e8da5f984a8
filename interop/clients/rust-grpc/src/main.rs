//! The producer and the simple consumer of Apache's Rust gRPC client, through a proxy.

use rocketmq::conf::{ClientOption, ProducerOption, SimpleConsumerOption};
use rocketmq::model::common::{FilterExpression, FilterType};
use rocketmq::model::message::MessageBuilder;
use rocketmq::{Producer, SimpleConsumer};
use tokio::signal::unix::{signal, SignalKind};

/// `produce PROXY TOPIC COUNT` or `consume PROXY TOPIC GROUP`.
#[tokio::main]
async fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, mode, proxy, topic, last] = &arguments[..] else { panic!("four arguments") };
    let mut client = ClientOption::default();
    client.set_access_url(proxy.as_str());
    client.set_enable_tls(false);
    if mode == "produce" {
        produce(client, topic, last.parse().unwrap()).await;
    } else {
        consume(client, topic, last).await;
    }
}

async fn produce(client: ClientOption, topic: &str, count: usize) {
    let mut option = ProducerOption::default();
    option.set_topics(vec![topic]);
    let mut producer = Producer::new(option, client).unwrap();
    producer.start().await.unwrap();
    println!("READY");
    for n in 0..count {
        let body = n.to_string().into_bytes();
        let message = MessageBuilder::builder().set_topic(topic).set_body(body).build().unwrap();
        match producer.send(message).await {
            Ok(_) => println!("SENT {n}"),
            Err(error) => println!("FAILED {n} {error:?}"),
        }
    }
    println!("DONE");
    producer.shutdown().await.unwrap();
}

async fn consume(client: ClientOption, topic: &str, group: &str) {
    let mut asked = signal(SignalKind::terminate()).unwrap();
    let mut option = SimpleConsumerOption::default();
    option.set_topics(vec![topic]);
    option.set_consumer_group(group);
    let mut consumer = SimpleConsumer::new(option, client).unwrap();
    consumer.start().await.unwrap();
    println!("READY");
    let all = FilterExpression::new(FilterType::Tag, "*");
    loop {
        tokio::select! {
            _ = asked.recv() => break,
            received = consumer.receive(topic.to_string(), &all) => for message in received.unwrap_or_default() {
                println!("GOT {}", String::from_utf8_lossy(message.body()));
                consumer.ack(&message).await.unwrap();
            },
        }
    }
    consumer.shutdown().await.unwrap();
    println!("DONE");
}
