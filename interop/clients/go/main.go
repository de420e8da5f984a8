// The producer and the push consumer of the Go client, with the arguments and the printed lines of the Java ones.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
	"github.com/apache/rocketmq-client-go/v2/rlog"
)

// A star in the topic of produce becomes the message's number.
// produce NAMESERVERS TOPIC COUNT, or consume NAMESERVERS TOPIC GROUP; name servers are separated by semicolons, or are
// the URL of an address server.
func main() {
	rlog.SetLogLevel("warn")
	servers := resolver(os.Args[2])
	if os.Args[1] == "produce" {
		count, err := strconv.Atoi(os.Args[4])
		check(err)
		produce(servers, os.Args[3], count)
	} else {
		consume(servers, os.Args[3], os.Args[4])
	}
}

func resolver(text string) primitive.NsResolver {
	if strings.HasPrefix(text, "http://") {
		return primitive.NewHttpResolver("interop", text)
	}
	return primitive.NewPassthroughResolver(strings.Split(text, ";"))
}

// Empty ones sign nothing.
func credentials() primitive.Credentials {
	return primitive.Credentials{AccessKey: os.Getenv("INTEROP_ACCESS_KEY"), SecretKey: os.Getenv("INTEROP_SECRET_KEY")}
}

func produce(servers primitive.NsResolver, topic string, count int) {
	p, err := rocketmq.NewProducer(
		producer.WithNsResolver(servers),
		producer.WithGroupName("interop-go-producer"),
		producer.WithSendMsgTimeout(10*time.Second),
		producer.WithCredentials(credentials()),
	)
	check(err)
	check(p.Start())
	fmt.Println("READY")
	for n := 0; n < count; n++ {
		number := strconv.Itoa(n)
		message := primitive.NewMessage(strings.ReplaceAll(topic, "*", number), []byte(number))
		result, err := p.SendSync(context.Background(), message)
		if err != nil || result.Status != primitive.SendOK {
			fmt.Println("FAILED", n, result, err)
		} else {
			fmt.Println("SENT", n)
		}
	}
	fmt.Println("DONE")
	check(p.Shutdown())
}

func consume(servers primitive.NsResolver, topic string, group string) {
	c, err := rocketmq.NewPushConsumer(
		consumer.WithNsResolver(servers),
		consumer.WithGroupName(group),
		consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset),
		consumer.WithCredentials(credentials()),
	)
	check(err)
	var printing sync.Mutex
	check(c.Subscribe(topic, consumer.MessageSelector{},
		func(_ context.Context, messages ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
			printing.Lock()
			defer printing.Unlock()
			for _, message := range messages {
				fmt.Println("GOT", string(message.Body))
			}
			return consumer.ConsumeSuccess, nil
		}))
	check(c.Start())
	fmt.Println("READY")
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM)
	<-asked
	check(c.Shutdown())
	fmt.Println("DONE")
}

func check(err error) {
	if err != nil {
		fmt.Println("FAILED", err)
		os.Exit(1)
	}
}
